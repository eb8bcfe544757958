import { type IncomingMessage, request } from "node:http";
import { describeLarge } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { placeOf } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const VARIABLES = 400;
const VALUE = "0123456789\n".repeat(5500);

/** The heap is limited as by `npm start`. */
describeLarge("a server whose answers are large", () => {
  let server: TestServer;
  let uuid: string;
  let path: string;

  beforeAll(async () => {
    server = await testServer();
    const application = { ...(await placeOf(server)), git_repository: "https://github.com/a/b", git_branch: "main" };
    const fields = { ...application, build_pack: "nixpacks", ports_exposes: "3000", instant_deploy: false };
    const { body } = await server.rest("POST", "/applications/public", fields);
    uuid = (body as { uuid: string }).uuid;
    path = `/applications/${uuid}/envs`;
    for (let at = 0; at < VARIABLES; at += 10) {
      const data = Array.from({ length: 10 }, (_, n) => ({ key: `LARGE_${at + n}`, value: VALUE }));
      expect((await server.rest("PATCH", `${path}/bulk`, { data })).status).toBe(201);
    }
  });
  afterAll(() => server?.dispose());

  test("answers several clients at once whole, and others meanwhile", async () => {
    const pid = server.pid();
    // Three answers held whole, beside the values that they are made of, exceed the heap.
    const lists = Promise.all(Array.from({ length: 3 }, () => sizeOf(server, path)));
    const beside = await server.rest("GET", "/version");
    const sizes = await lists;
    // Each is there for previews too; a line end takes two characters.
    expect(Math.min(...sizes)).toBeGreaterThan(2 * VARIABLES * VALUE.length);
    expect(beside.status).toBe(200);
    expect(server.pid()).toBe(pid);
  });

  test("refuses by tRPC what is too large for one answer, and says how to ask for less", async () => {
    const list = (page: object) => server.client.applications.envs.list.query({ uuid, ...page });
    const refused = await Promise.allSettled(Array.from({ length: 4 }, () => list({})));
    for (const one of refused) {
      const message = one.status === "rejected" ? String(one.reason) : "";
      expect(message).toMatch(/exceeds 16 MB. Ask for less with `take` and `skip`|Try again in a second/);
    }
    expect(await list({ skip: 10, take: 20 })).toHaveLength(20);
  });

  test("keeps nothing for clients that do not read", async () => {
    const sockets = await Promise.all(Array.from({ length: 20 }, () => idleReader(server, path)));
    const { status, body } = await server.rest("GET", path);
    expect([status, (body as unknown[]).length]).toEqual([200, 2 * VARIABLES]);
    for (const socket of sockets) socket.destroy();
    expect((await server.rest("GET", "/version")).status).toBe(200);
  });
});

async function sizeOf({ url, token }: TestServer, path: string): Promise<number> {
  const response = await fetch(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  let size = 0;
  for await (const chunk of response.body ?? []) size += chunk.length;
  return size;
}

/** Reads the head of the answer, and then nothing. */
async function idleReader({ url, token }: TestServer, path: string) {
  const asked = request(`${url}/api/v1${path}`, { agent: false, headers: { authorization: `Bearer ${token}` } });
  asked.end();
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once("response", resolve);
    asked.once("error", reject);
  });
  response.pause();
  return response;
}
