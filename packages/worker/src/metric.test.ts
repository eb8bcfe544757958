import { type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openWorld } from "./world.fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test("what live releases use is sampled again and again, and old samples go", async () => {
  const world = await openWorld(database);
  const application = await world.application();
  const old = {
    deployment_uuid: "d0",
    cpu_percent: 1,
    memory_bytes: 1,
    processes: 1,
    at: new Date(Date.now() - 90_000_000),
  };
  const counts = { network_received_bytes: 1, network_sent_bytes: 2, disk_read_bytes: null, disk_written_bytes: 0 };
  await world.system.metrics.insert([{ ...old, ...counts, resource_id: application.id }]);
  world.worker({ settings: { metricsSeconds: 0.2 } });
  const deployment = await world.deploy(application);
  await world.ended(deployment);
  const samples = async () => (await world.stores.metrics.list(application.id, new Date(0))).items;
  await until(async () => (await samples()).length > 2, { what: "there are several" });
  const [first, second] = await samples();
  expect(first).toMatchObject({ deployment_uuid: deployment.uuid, cpu_percent: null, memory_bytes: 1000 });
  // Its processor time is the clock, so it uses one processor fully.
  expect(second?.cpu_percent).toBeGreaterThan(50);
  await world.close();
});

test("an engine that does not answer keeps no other from being sampled", async () => {
  const world = await openWorld(database);
  const { server: stuck, engine } = await world.buildServer();
  const { releases } = world.system;
  let asked = 0;
  const usage = () => {
    asked += 1;
    return new Promise<undefined>(() => undefined);
  };
  const engineFor = engine.for;
  engine.for = (owner) => ({ ...engineFor(owner), usage });
  const listByRole: typeof releases.listByRole = async (role, serverIds) =>
    (await releases.listByRole(role, serverIds)).flatMap((live) => [live, { ...live, server_id: stuck.id }]);
  const stores = { ...world.system, releases: { ...releases, listByRole } };
  world.worker({ settings: { metricsSeconds: 0.2 }, stores });
  const application = await world.application();
  await world.ended(await world.deploy(application));
  await until(
    async () => {
      return (await world.stores.metrics.list(application.id, new Date(0))).items.length > 2;
    },
    { what: "it is sampled" },
  );
  expect(asked).toBe(1);
  await world.close();
});
