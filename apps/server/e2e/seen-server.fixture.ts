import type { DockerFixture, ServerContainer } from "@berth/testing";
import { until } from "@berth/testing";
import { type Answer, get, made, visit } from "./applications.fixture.ts";
import type { DockerServer } from "./docker.fixture.ts";
import type { TestServer } from "./server.fixture.ts";

/** A server with an engine, and direct access to it without the control plane. */
export interface SeenServer {
  readonly server: TestServer;
  readonly serverUuid: string;
  readonly client: DockerFixture["client"];
  /** Sends a request through its proxy. */
  visit(host: string): Promise<Answer>;
}

/** The server of this machine's engine. */
export const seenHere = ({ client }: Pick<DockerFixture, "client">, server: DockerServer): SeenServer => ({
  server,
  serverUuid: server.dockerUuid,
  client,
  visit: (host) => get(server, host),
});

/** A machine that is reached over SSH. */
export async function seenOverSsh(server: TestServer, machine: ServerContainer, name: string): Promise<SeenServer> {
  const { client, address } = machine;
  const serverUuid = await sshServer(server, machine, name);
  return { server, serverUuid, client, visit: (host) => visit({ host: address, port: 80 }, host) };
}

/** Registers a machine as a server that is reached over SSH. @returns Its uuid, once it can be used. */
export async function sshServer(server: TestServer, machine: ServerContainer, name: string): Promise<string> {
  await machine.loadImages("busybox:stable", "caddy:2");
  const key = await made(server, "/security/keys", { name: machine.name, private_key: machine.keys.privateKey });
  const serverUuid = await made(server, "/servers", {
    name,
    ip: machine.address,
    private_key_uuid: key,
    proxy_type: "caddy",
    instant_validate: true,
  });
  await until(
    async () => {
      const { body } = await server.rest("GET", `/servers/${serverUuid}`);
      const { is_usable, is_validating, validation_logs } = body as Validated;
      if (is_usable || is_validating) return is_usable;
      throw new Error(`${name} cannot be used: ${validation_logs}\n${server.output()}`);
    },
    { seconds: 90 },
  );
  return serverUuid;
}

interface Validated {
  readonly is_usable: boolean;
  readonly is_validating: boolean;
  readonly validation_logs: string | null;
}
