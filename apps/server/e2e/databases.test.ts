import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testDatabase, until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Environment that selects the database. */
const environments = {
  embedded: async () => ({ env: {}, close: async () => {} }),
  tcp: async () => {
    const database = await testDatabase({ backend: "tcp" });
    return { env: { BERTH_DATABASE_URL: database.url }, close: () => database.close() };
  },
  pglite: async () => ({ env: { BERTH_EMBEDDED: "pglite" }, close: async () => {} }),
} satisfies Record<string, () => Promise<{ env: Record<string, string>; close(): Promise<void> }>>;
const BACKENDS = ["embedded", "tcp", "pglite"] as const;

describe.each(BACKENDS)("on the database %s", (backend) => {
  let server: TestServer;
  let plain: Deployed;
  let close: () => Promise<void>;
  const source = temporaryRepository(plainServer("one"));
  beforeAll(async () => {
    const database = await environments[backend]();
    close = database.close;
    // A folder of its own, in which an embedded database is created with the product's settings.
    server = await testServer({ dataFolder: mkdtempSync(join(tmpdir(), "berth-")), env: database.env });
  });
  afterAll(async () => {
    await server.dispose();
    await close();
    source.dispose();
  });

  it("deploys an application", async () => {
    plain = await createApplication(server, source, { name: "plain" });
    const outcome = await deploy(server, plain.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await get(server, plain.host)).toEqual({ status: 200, body: "one" });
  });

  it("keeps everything over a kill -9, adopts what runs, and starts nothing twice", async () => {
    const pid = await pidOf(server, plain);
    await server.kill();
    expect(await get(server, plain.host)).toEqual({ status: 200, body: "one" });
    await server.start();
    const { body } = await server.rest("GET", `/applications/${plain.uuid}`);
    expect(body).toMatchObject({ name: "plain" });
    await until(async () => (await server.rest("GET", `/applications/${plain.uuid}/logs`)).status === 200);
    expect(await pidOf(server, plain)).toBe(pid);
  });

  it("stops and starts with the control plane", async () => {
    expect(await server.stop()).toBe(0);
    await expect(get(server, plain.host)).rejects.toThrow();
    await server.start();
    await until(async () => (await get(server, plain.host).catch(() => undefined))?.body === "one");
  });
});

/** Process id of the application, which it answers at `/pid`. */
async function pidOf(server: TestServer, { host }: Deployed): Promise<number> {
  const { body } = await get(server, host, "/pid");
  expect(body).toMatch(/^\d+$/);
  return Number(body);
}
