import { type TestDatabase, testDatabase, withClient } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { askForAll, copiesSql, forgetPeak, otherTeam, peakMb, sizeOf } from "./many-applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const APPLICATIONS = 1000;
const [READERS, IDLERS] = [24, 6];
const RSS_MB_MAX = 300;

let database: TestDatabase;
let server: TestServer;
const repository = temporaryRepository(plainServer("1"));
beforeAll(async () => {
  database = await testDatabase({ backend: "tcp" });
  server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
  await createApplication(server, repository, { name: "measured" });
  await withClient({ connectionString: database.url }, (client) => client.query(copiesSql(APPLICATIONS - 1)));
});
afterAll(async () => {
  await server?.dispose();
  await database?.close();
  repository.dispose();
});

/** The full size is measured by `npm run bench wide`. */
test("lists all applications to clients of which some never read, in bounded memory, and refuses no other team", async () => {
  const pid = server.pid();
  const other = { authorization: `Bearer ${await otherTeam(server)}` };
  const { body } = await server.rest("GET", "/applications");
  const whole = Buffer.byteLength(JSON.stringify(body));
  expect(body).toHaveLength(APPLICATIONS);
  forgetPeak(pid);
  const idlers = await Promise.all(Array.from({ length: IDLERS }, () => askForAll(server)));
  const lists = Promise.all(Array.from({ length: READERS }, async () => sizeOf(await askForAll(server))));
  let isOver = false;
  const statuses = new Set<number>();
  const beside = (async () => {
    while (!isOver) statuses.add((await fetch(`${server.url}/api/v1/projects`, { headers: other })).status);
  })();
  const sizes = await lists;
  isOver = true;
  await beside;
  expect(new Set(sizes)).toEqual(new Set([whole]));
  expect(statuses).toEqual(new Set([200]));
  expect(peakMb(pid)).toBeLessThan(RSS_MB_MAX);
  for (const one of idlers) one.destroy();
  expect(server.pid()).toBe(pid);
});
