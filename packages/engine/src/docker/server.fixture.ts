import { readFileSync } from "node:fs";
import { type SshHost, type SshHostOptions, sshHost } from "@berth/host";
import { type DockerFixture, sshKeyPair, type TestContainer } from "@berth/testing";

export const SERVER_IMAGE = "server:debian13";

/** A server in a container: with its own address, sshd and, by default, a Docker engine. */
export interface TestServer {
  readonly ip: string;
  readonly privateKey: string;
  readonly container: TestContainer;
}

/** @param withEngine Whether its engine is started. Default true. */
export async function testServer(
  docker: DockerFixture,
  { withEngine = true }: { readonly withEngine?: boolean } = {},
): Promise<TestServer> {
  const { privateKey, publicKey } = sshKeyPair();
  const container = await docker.container({
    image: SERVER_IMAGE,
    env: { AUTHORIZED_KEY: publicKey, ...(withEngine ? {} : { NO_DOCKER: "1" }) },
    hostConfig: {
      // Some machines lack a capability that "ALL" would request.
      CapAdd: ["ALL"],
      CapDrop: lacksResource() ? ["SYS_RESOURCE"] : [],
      SecurityOpt: ["seccomp=unconfined", "apparmor=unconfined"],
      Init: false,
    },
    // An engine's data cannot be on the overlay of another engine.
    raw: { Volumes: { "/var/lib/docker": {} } },
  });
  return { ip: container.address, privateKey, container };
}

/** A host as the control plane has it. @param bridgeFolder Local folder for bridge sockets. */
export const farHost = (
  { ip, privateKey }: Pick<TestServer, "ip" | "privateKey">,
  bridgeFolder: string,
  options: Partial<SshHostOptions> = {},
): SshHost =>
  sshHost({
    name: "far",
    ip,
    port: 22,
    user: "root",
    privateKey: async () => privateKey,
    hostKey: null,
    onHostKey: async () => {},
    connectTimeoutSeconds: 10,
    retrySeconds: 0.05,
    retrySecondsMax: 0.2,
    bridgeFolder,
    ...options,
  });

function lacksResource(): boolean {
  const bounds = /^CapBnd:\s+([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return (BigInt(`0x${bounds}`) & (1n << 24n)) === 0n;
}
