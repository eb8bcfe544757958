import type { DockerFixture } from "./docker.ts";
import type { ServerContainer } from "./server-container.ts";
import { until } from "./until.ts";

export const REGISTRY_IMAGE = "registry:2";

/** A registry with one user, without TLS. */
export interface TestRegistry {
  /** `host:port` for this machine's engine: a loopback address needs no TLS. */
  readonly address: string;
  /** `host:port` in the suite's network, for servers in containers. */
  readonly networkAddress: string;
  readonly username: string;
  readonly password: string;
}

const USERNAME = "berth";
const PASSWORD = "registry-pass-1";
// Hash of that password with the lowest cost, since it is checked on each request.
const HTPASSWD = `${USERNAME}:$2b$05$LEqomHcm2vlOySq3h9pC/eD5VpLvNIWqP0U4p7n1oYO/7Jj/vKzxq`;

/** @param options.isOpen Whether it needs no login. */
export async function startRegistry(
  docker: DockerFixture,
  { isOpen = false }: { readonly isOpen?: boolean } = {},
): Promise<TestRegistry> {
  const file = "/htpasswd";
  const script = 'printf "%s\\n" "$HTPASSWD" >/htpasswd; exec registry serve /etc/docker/registry/config.yml';
  const { container, address } = await docker.container({
    image: REGISTRY_IMAGE,
    name: docker.name("registry"),
    env: isOpen
      ? {}
      : {
          HTPASSWD,
          REGISTRY_AUTH: "htpasswd",
          REGISTRY_AUTH_HTPASSWD_REALM: "test",
          REGISTRY_AUTH_HTPASSWD_PATH: file,
        },
    raw: { Entrypoint: ["/bin/sh", "-c", script], ExposedPorts: { "5000/tcp": {} } },
    hostConfig: { PortBindings: { "5000/tcp": [{ HostIp: "127.0.0.1", HostPort: "" }] } },
  });
  const { NetworkSettings } = await container.inspect();
  const port = NetworkSettings.Ports["5000/tcp"]?.[0]?.HostPort;
  if (port === undefined) throw new Error("The registry has no port.");
  const wanted = isOpen ? 200 : 401;
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/v2/`).then(
      ({ status }) => status === wanted,
      () => false,
    );
  await until(answers, { what: "the registry answers" });
  return { address: `127.0.0.1:${port}`, networkAddress: `${address}:5000`, username: USERNAME, password: PASSWORD };
}

/** Lets servers use the registry without TLS, as an operator would. */
export async function trustRegistry(
  { networkAddress }: TestRegistry,
  machines: readonly ServerContainer[],
): Promise<void> {
  const daemon = JSON.stringify({ "insecure-registries": [networkAddress] });
  const argv = ["sh", "-c", 'echo "$1" >/etc/docker/daemon.json && pkill -HUP dockerd', "sh", daemon];
  for (const machine of machines) await machine.exec(argv);
}

/** A Docker configuration with the registry's login, under both addresses. */
export function registryLogins({ address, networkAddress, username, password }: TestRegistry): string {
  const auth = Buffer.from(`${username}:${password}`).toString("base64");
  return JSON.stringify({ auths: { [address]: { auth }, [networkAddress]: { auth } } });
}
