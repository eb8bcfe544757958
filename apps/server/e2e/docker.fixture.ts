import { type DockerFixture, testContainer } from "@berth/testing";
import { freePorts, type ServerOptions, type TestServer, testServer } from "./server.fixture.ts";

/** A real server with this machine's Docker engine, and a proxy on free ports. */
export interface DockerServer extends TestServer {
  /** uuid of the server for the engine. */
  readonly dockerUuid: string;
  readonly httpsPort: number;
}

/** Its objects have the suite's label and are removed with the suite. `proxyPort` is that of the engine's proxy. */
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

/** Output of a program in a resource's running container. @throws Error with the output when it fails. */
export async function execIn(
  { client }: Pick<DockerFixture, "client">,
  uuid: string,
  argv: readonly string[],
  ...labels: readonly string[]
): Promise<string> {
  const filters = { label: [`berth.resource=${uuid}`, "berth.role=release", ...labels], status: ["running"] };
  const [found] = await client.listContainers({ filters });
  if (found === undefined) throw new Error(`Nothing of ${uuid} runs.`);
  const container = await testContainer(client, found.Id, { name: found.Names[0] ?? "", network: "" });
  const { exitCode, output } = await container.exec(argv);
  if (exitCode !== 0) throw new Error(`${argv[0]} exited with ${exitCode}: ${output}`);
  return output.trim();
}
