import { describeDocker, type LogDrainServer, logDrainServer, type RepositoryFiles, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, deploy, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Each of its containers counts, also while Berth does not run. */
const COUNTING: RepositoryFiles = {
  Dockerfile: `FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nEXPOSE 3000\nCMD ["node", "server.js"]\n`,
  "server.js": `
    let count = 0;
    setInterval(() => console.log("count " + count++), 20);
    require("node:http").createServer((request, response) => response.end("ok")).listen(3000);
    process.on("SIGTERM", () => process.exit(0));
  `,
};

describeDocker("the log drain of a server with containers", ["node:24-alpine", "caddy:2"], (docker) => {
  const source = temporaryRepository(COUNTING);
  let server: DockerServer;
  let receiver: LogDrainServer;
  beforeAll(async () => {
    receiver = await logDrainServer();
    server = await dockerServer(docker, { env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    const config = `[OUTPUT]\n  Name http\n  Match *\n  Host 127.0.0.1\n  Port ${receiver.port}\n  URI /logs\n  Format json\n`;
    const body = { is_logdrain_custom_enabled: true, logdrain_custom_config: config };
    expect((await server.rest("PATCH", `/servers/${server.dockerUuid}/log-drains`, body)).status).toBe(200);
    const app = await createApplication(server, source, {
      ...{ name: "counts", server_uuid: server.dockerUuid, build_pack: "dockerfile", replicas: 2 },
      is_log_drain_enabled: true,
    });
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    await server?.dispose();
    await receiver.close();
    source.dispose();
  });

  /** Before the second container runs, the lines of the only one have no name. */
  const byContainer = () => Map.groupBy(receiver.lines, ({ fields }) => fields.container_name ?? "replica-1");
  const counted = (count: number) =>
    until(() => byContainer().size === 2 && [...byContainer().values()].every(({ length }) => length >= count), {
      what: `${count} lines of each container arrive`,
    });

  test("gets each line of each container once and in order, also those from while Berth did not run", async () => {
    await counted(100);
    await server.stop();
    const [before] = [...byContainer().values()].map(({ length }) => length);
    await server.start();
    await counted((before ?? 0) + 200);
    for (const [name, lines] of byContainer()) {
      expect(
        lines.map(({ text }) => text),
        String(name),
      ).toEqual(lines.map((_, count) => `count ${count}`));
    }
  });
});
