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
  const counts = {
    network_received_bytes: 1,
    network_sent_bytes: 2,
    disk_read_bytes: null,
    disk_written_bytes: 0,
    requests_per_second: null,
  };
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
  const listMeasured: typeof releases.listMeasured = async (serverIds) =>
    (await releases.listMeasured(serverIds)).flatMap((live) => [live, { ...live, server_id: stuck.id }]);
  const stores = { ...world.system, releases: { ...releases, listMeasured } };
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

test("of many servers some are sampled at a time, and then the others", async () => {
  const world = await openWorld(database);
  const worker = world.worker();
  const deployment = await world.deploy(await world.application());
  await world.ended(deployment);
  await worker.stop({ graceSeconds: 1 });

  const asked = new Set<number>();
  const gate = Promise.withResolvers<undefined>();
  const others: number[] = [];
  for (let n = 0; n < 40; n += 1) {
    const { server, engine } = await world.buildServer();
    const engineFor = engine.for;
    const usage = () => {
      asked.add(server.id);
      return gate.promise;
    };
    engine.for = (owner) => ({ ...engineFor(owner), usage });
    others.push(server.id);
  }
  const { releases } = world.system;
  const listMeasured: typeof releases.listMeasured = async (serverIds) => {
    const [live] = await releases.listMeasured([world.server.id]);
    return live === undefined ? [] : others.flatMap((id) => (serverIds.includes(id) ? { ...live, server_id: id } : []));
  };
  const stores = { ...world.system, releases: { ...releases, listMeasured } };
  world.worker({ settings: { metricsSeconds: 0.2 }, stores });
  await until(() => asked.size >= 30, { what: "many are asked" });
  // All of a round are asked before the database answers.
  await world.ended(deployment);
  // 32, of which the world's own server may be one.
  expect(asked.size).toBeLessThanOrEqual(32);
  gate.resolve(undefined);
  await until(() => asked.size === others.length, { what: "all are asked" });
  await world.close();
});

test("answered requests are sampled, but none of another run of the proxy or of a release that was replaced", async () => {
  const world = await openWorld(database);
  const application = await world.application();
  world.worker({ settings: { metricsSeconds: 0.1, drainSecondsMax: 600 } });
  const first = await world.ended(await world.deploy(application));
  let count = 0;
  /** Rates since a moment, while requests are answered all the time. */
  const untilRates = async (since: Date, what: string, areSeen: (rates: readonly (number | null)[]) => boolean) =>
    await until(
      async () => {
        world.proxy.counts.set(application.uuid, ++count);
        const { items } = await world.stores.metrics.list(application.id, since);
        return areSeen(items.map(({ requests_per_second }) => requests_per_second)) || undefined;
      },
      { what },
    );
  const isKnown = (rate: number | null) => rate !== null && rate > 0;
  await untilRates(new Date(0), "requests are sampled", (rates) => rates.some(isKnown));

  const restarted = new Date();
  world.proxy.run = "second";
  count += 1_000_000;
  await untilRates(
    restarted,
    "those of the next run are",
    (rates) => rates.includes(null) && isKnown(rates.at(-1) ?? null),
  );
  const { items } = await world.stores.metrics.list(application.id, restarted);
  expect(items.every(({ requests_per_second }) => (requests_per_second ?? 0) < 100_000)).toBe(true);

  const [{ port } = { port: 0 }] = world.proxy.sites.get(application.uuid)?.upstreams ?? [];
  world.proxy.busy.set(port, 1);
  const second = await world.ended(await world.deploy(application));
  expect([first.status, second.status]).toEqual(["finished", "finished"]);
  const switched = new Date();
  await untilRates(switched, "the new release is sampled", (rates) => rates.length > 4);
  const sampled = await world.stores.metrics.list(application.id, switched);
  expect(sampled.items.map(({ requests_per_second }) => requests_per_second)).toEqual(sampled.items.map(() => null));
  world.proxy.busy.clear();
  await untilRates(new Date(), "its own requests are sampled", (rates) => rates.some(isKnown));
  await world.close();
});
