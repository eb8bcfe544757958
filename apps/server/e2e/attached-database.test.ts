import { describeDocker, TEST_CLIENTS, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, deploy, deployFirst, get, temporaryRepository } from "./applications.fixture.ts";
import { DATABASE_DEADLINE_MS, databaseCalls } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const { image } = TEST_CLIENTS.redis;

/** Counts its visits in the database of `CACHE_URL`, which it opens anew for each. Health checks do not count. */
const COUNTING = `
  const url = new URL(process.env.CACHE_URL);
  const visits = () => new Promise((resolve, reject) => {
    const socket = require("node:net").connect(url.port || 6379, url.hostname);
    const login = ["AUTH", ...[url.username, url.password].filter(Boolean).map(decodeURIComponent)];
    socket.write([login, ["INCR", "visits"]].map((words) => words.map((word) => JSON.stringify(word)).join(" ") + "\\r\\n").join(""));
    let said = "";
    socket.on("data", (piece) => {
      said += piece;
      const lines = said.split("\\r\\n");
      if (lines.length > 2) socket.end(() => resolve(lines.slice(0, 2).join(" ")));
    });
    socket.on("error", reject);
  });
  const server = require("node:http").createServer((request, answer) =>
    request.url !== "/visit" ? answer.end() : visits().then((text) => answer.end(text), (error) => answer.writeHead(500).end(String(error))));
  server.listen(process.env.PORT || 3000);
  process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;
const FILES = {
  "package.json": JSON.stringify({ name: "counting", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": COUNTING,
  Dockerfile: 'FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nENV PORT=3000\nEXPOSE 3000\nCMD ["node", "server.js"]\n',
};

describeDocker("a database attached to an application", [image, "node:24-alpine"], (docker) => {
  let server: DockerServer;
  const calls = databaseCalls(() => server);
  const program = temporaryRepository(FILES);
  beforeAll(async () => {
    server = await dockerServer(docker);
  });
  afterAll(async () => {
    await server?.dispose();
    program.dispose();
  });

  test.each([
    ["in a container beside it", "network", () => ({ server_uuid: server.dockerUuid, build_pack: "dockerfile" })],
    ["as a process of the same machine", "loopback", () => ({})],
  ])(
    "is opened with its URL from inside the application, %s, also with a new password",
    async (_where, route, place) => {
      const name = `cache-${route}`;
      const database = await calls.create("redis", image, { name });
      await calls.shows(database, "running:healthy");
      const app = await createApplication(server, program, {
        name: `counting-${route}`,
        domains: `http://${route}.test`,
        ...place(),
      });
      const sent = { resource_uuid: app.uuid, as: "CACHE_URL" };
      const attached = await calls.done("POST", `/databases/${database}/attachments`, sent);
      expect(attached).toMatchObject({ route });
      await deployFirst(server, app.uuid);
      // A port of the machine may open a moment after the deployment.
      const first = await until(async () => {
        const answer = await get(server, app.host, "/visit");
        return answer.status === 200 ? answer : undefined;
      });
      expect(first.body).toBe("+OK :1");
      expect(await get(server, app.host, "/visit")).toEqual({ status: 200, body: "+OK :2" });

      await calls.done("PATCH", `/databases/${database}`, { redis_password: "another/pass@word" });
      expect((await calls.run(database, "restart")).status).toBe("finished");
      await calls.shows(database, "running:healthy");
      // A reference, so the next deployment has the new password.
      expect((await deploy(server, app.uuid)).status).toBe("finished");
      await until(async () => (await get(server, app.host, "/visit")).body.startsWith("+OK"), { seconds: 30 });
    },
    DATABASE_DEADLINE_MS * 2,
  );
});
