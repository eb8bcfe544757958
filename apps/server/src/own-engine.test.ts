import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerRecord } from "@berth/core/ports";
import { dockerClient } from "@berth/docker-client";
import { type Host, localHost } from "@berth/host";
import { type TestDatabase, testDatabase, testPlace, testTeam } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ownEngine } from "./own-engine.ts";

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await testDatabase();
  folder = mkdtempSync(join(tmpdir(), "berth-own-engine-"));
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});

test("an engine is used for one server only, which its refusal names to its own team alone", async () => {
  const mine = await testTeam(database);
  const { server: first } = await testPlace(mine);
  const { server: second } = await testPlace(mine);
  const { server: foreign } = await testPlace(await testTeam(database));
  const engine = await engineWith("one");
  try {
    expect(await containersOf(first, engine.host)).toEqual([]);
    expect(engine.asked).toEqual(["/info", "/containers/json"]);
    engine.asked.length = 0;
    const refused = { code: "engine.unreachable", message: expect.stringContaining(`same Docker engine as server`) };
    await expect(containersOf({ ...second, name: "twin" }, engine.host)).rejects.toMatchObject(refused);
    await expect(containersOf(foreign, engine.host)).rejects.toThrow("same Docker engine as another server,");
    expect(engine.asked).toEqual(["/info", "/info"]);
  } finally {
    engine.server.close();
  }
});

test("an engine without an identity is used", async () => {
  const { server } = await testPlace(await testTeam(database));
  const engine = await engineWith(undefined);
  try {
    expect(await containersOf(server, engine.host)).toEqual([]);
  } finally {
    engine.server.close();
  }
});

async function containersOf(server: ServerRecord, host: Host): Promise<unknown> {
  const { require } = ownEngine({ host, stores: database.system, record: () => server });
  const docker = dockerClient(host, undefined, { beforeConnect: require });
  try {
    return await docker.listContainers();
  } finally {
    (docker.modem as unknown as { agent: { destroy(): void } }).agent.destroy(); // Missing in the library's types.
  }
}

async function engineWith(
  id: string | undefined,
): Promise<{ readonly host: Host; readonly server: Server; readonly asked: string[] }> {
  const path = join(folder, `${id}.sock`);
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url.split("?")[0] ?? "");
    response
      .setHeader("content-type", "application/json")
      .end(url.startsWith("/info") ? JSON.stringify({ ID: id }) : "[]");
  }).listen(path);
  await once(server, "listening");
  const host: Host = {
    ...localHost("web"),
    async connectSocket() {
      const socket = connect(path);
      await once(socket, "connect");
      return socket;
    },
  };
  return { host, server, asked };
}
