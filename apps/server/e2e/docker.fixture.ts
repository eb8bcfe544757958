import type { DockerFixture } from "@berth/testing";
import { freePorts, type ServerOptions, type TestServer, testServer } from "./server.fixture.ts";

/** A real server that has this machine's Docker engine registered, with a proxy on ports of its own. */
export interface DockerServer extends TestServer {
  /** Of the server that stands for the engine. */
  readonly dockerUuid: string;
  readonly httpsPort: number;
}

/** What it makes on the engine carries the suite's instance, and goes with the suite. `proxyPort` is the engine's. */
export async function dockerServer(
  docker: Pick<DockerFixture, "instance" | "name">,
  options: ServerOptions = {},
): Promise<DockerServer> {
  const [httpPort, httpsPort] = await freePorts(2);
  const server = await testServer({
    ...options,
    env: {
      BERTH_DOCKER: "auto",
      BERTH_HTTP_PORT: String(httpPort),
      BERTH_HTTPS_PORT: String(httpsPort),
      BERTH_DOCKER_NETWORK: docker.name("berth"),
      BERTH_INSTANCE_ID: docker.instance,
      ...options.env,
    },
  });
  const { body } = await server.rest("GET", "/servers");
  const found = (body as { uuid: string; engine: string }[]).find(({ engine }) => engine === "docker");
  if (found === undefined) throw new Error(`The engine was not registered: ${server.output()}`);
  return { ...server, proxyPort: Number(httpPort), httpsPort: Number(httpsPort), dockerUuid: found.uuid };
}
