import { type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { autoscale } from "./autoscaler.ts";
import { openWorld } from "./world.fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const COUNTS = {
  network_received_bytes: 1,
  network_sent_bytes: 2,
  disk_read_bytes: null,
  disk_written_bytes: 0,
  requests_per_second: null,
};

test("an application whose containers use more than they should gets more of them, with the reason", async () => {
  const world = await openWorld(database);
  const [busy, fixed, stopped] = [await world.application(), await world.application(), await world.application()];
  const on = { autoscaling_enabled: true, autoscaling_replicas_max: 4 };
  for (const { id } of [busy, stopped]) await world.stores.applications.update(id, { settings: on });
  for (const { id } of [busy, fixed]) await world.stores.resources.setDesiredState(id, "running");
  await world.stores.resources.setDesiredState(stopped.id, "stopped");
  const sample = { deployment_uuid: "d1", cpu_percent: 210, memory_bytes: 1000, processes: 3, at: new Date() };
  const all = [busy, fixed, stopped];
  await world.system.metrics.insert(all.map(({ id }) => ({ ...sample, ...COUNTS, resource_id: id })));

  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const clock = { now: () => new Date(sample.at.getTime() + 1000) };
  const ids = all.map(({ id }) => id);
  const scale = () => autoscale({ stores: world.system, clock, logger, sampleSeconds: 60 }, ids);
  const replicas = async () =>
    await Promise.all(all.map(async ({ uuid }) => (await world.stores.applications.find(uuid))?.settings.replicas));
  await scale();
  expect(await replicas()).toEqual([3, 1, 1]);
  const events = await world.stores.events.list({ type: "resource.autoscaled" });
  expect(events.map(({ resource_uuid, payload }) => [resource_uuid, payload])).toEqual([
    [busy.uuid, expect.objectContaining({ from: 1, to: 3, reason: "CPU 210 % per container, target 70 %." })],
  ]);
  // The samples are of one container: three of them use a third each, which is the target.
  await scale();
  expect(await replicas()).toEqual([3, 1, 1]);
  await world.stores.applications.update(busy.id, { settings: { autoscaling_replicas_min: 4 } });
  await scale();
  expect(await replicas()).toEqual([4, 1, 1]);
  await world.close();
});
