import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createApplication, type Deployed, deploy, get, temporaryRepository } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Answers what a file holds that the path names, and adds a line to one with `?add=`. */
const FILES = {
  "package.json": JSON.stringify({ name: "files", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    const { appendFileSync, readFileSync } = require("node:fs");
    const server = require("node:http").createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url, "http://x");
      try {
        if (searchParams.has("add")) appendFileSync("." + pathname, searchParams.get("add"));
        response.end(pathname === "/" ? "up" : readFileSync("." + pathname));
      } catch (error) {
        response.writeHead(404).end(error.code);
      }
    });
    server.listen(process.env.PORT);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
};

let server: TestServer;
let app: Deployed;
let folder: string;
const source = temporaryRepository(FILES);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-shared-"));
  chmodSync(folder, 0o755);
  writeFileSync(join(folder, "hosts"), "of the server");
  server = await testServer();
  app = await createApplication(server, source);
});
afterAll(async () => {
  await server.dispose();
  source.dispose();
  rmSync(folder, { recursive: true, force: true });
});

const body = async (path: string) => (await get(server, app.host, path)).body;

async function deployed(): Promise<void> {
  const outcome = await deploy(server, app.uuid);
  expect(outcome, outcome.log).toMatchObject({ status: "finished" });
}

it("gives an application its volume, its files and a folder of the server, and follows their changes", async () => {
  const path = `/applications/${app.uuid}/storages`;
  const made: { uuid: string }[] = [];
  for (const storage of [
    { type: "persistent", name: "data", mount_path: "/app/data" },
    { type: "file", mount_path: "/app/conf/app.conf", content: "level=1" },
    { type: "persistent", name: "shared", mount_path: "/app/shared", host_path: folder },
  ]) {
    const created = await server.rest("POST", path, storage);
    expect(created.status).toBe(201);
    made.push(created.body as { uuid: string });
  }
  await deployed();
  expect(await body("/data/log?add=first-")).toBe("first-");
  expect([await body("/conf/app.conf"), await body("/shared/hosts")]).toEqual(["level=1", "of the server"]);

  const [data, conf, shared] = made;
  await server.rest("PATCH", path, { uuid: conf?.uuid, content: "level=2" });
  await server.rest("PATCH", path, { uuid: data?.uuid, name: "renamed", mount_path: "/app/var" });
  await server.rest("DELETE", `${path}/${shared?.uuid}`);
  expect([await body("/conf/app.conf"), await body("/data/log")]).toEqual(["level=1", "first-"]);
  await deployed();
  expect([await body("/conf/app.conf"), await body("/var/log?add=second")]).toEqual(["level=2", "first-second"]);
  expect([await body("/data/log"), await body("/shared/hosts")]).toEqual(["ENOENT", "ENOENT"]);
});
