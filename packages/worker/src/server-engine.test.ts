import type { ServerRecord } from "@berth/core/ports";
import { type TestDatabase, testDatabase, testPlace, testTeam, testUuid } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { recordEngine } from "./server-engine.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test("an engine is recorded for one server alone, until that has another address", async () => {
  const stores = await testTeam(database);
  const [{ server: one }, { server: two }] = [await testPlace(stores), await testPlace(stores)];
  const engine = testUuid();
  const problemOf = (server: ServerRecord) => recordEngine(database.system, server, engine);
  expect([await problemOf(one), await problemOf(one)]).toEqual([null, null]);
  expect(await problemOf(two)).toMatch(/has the same Docker engine as server/);
  await stores.servers.update(one.uuid, { ip: `${testUuid()}.example.com` });
  expect(await problemOf(two)).toBeNull();
  expect(await problemOf(one)).toMatch(/has the same Docker engine as server/);
});

test("the host key that the connection recorded meanwhile tells a copy from its original", async () => {
  const stores = await testTeam(database);
  const [{ server: one }, { server: two }] = [await testPlace(stores), await testPlace(stores)];
  const engine = testUuid();
  await database.system.servers.recordHostKey(one, "SHA256:one");
  await recordEngine(database.system, one, engine);
  await database.system.servers.recordHostKey(two, "SHA256:two");
  expect(await recordEngine(database.system, two, engine)).toBeNull();
});

test("of servers whose engine is recorded at the same moment, one gets it", async () => {
  const stores = await testTeam(database);
  const servers = await Promise.all(Array.from({ length: 6 }, () => testPlace(stores)));
  const engine = testUuid();
  const problems = await Promise.all(servers.map(({ server }) => recordEngine(database.system, server, engine)));
  expect(problems.filter((problem) => problem === null)).toHaveLength(1);
});
