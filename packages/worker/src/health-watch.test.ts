import type { ReleaseState } from "@berth/core/deploy";
import { type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, expect, test } from "vitest";
import { createHealthWatch, type Watched } from "./health-watch.ts";
import { life } from "./killable.fixture.ts";
import { replicaHealth } from "./replica-health.ts";
import { createRouter } from "./router.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { openWorld } from "./world.fixture.ts";

let database: TestDatabase | undefined;
afterAll(() => database?.close());

test("a watched application that hangs is given up after half a minute, however long it may take", async () => {
  database = await testDatabase();
  const world = await openWorld(database);
  const timeouts: number[] = [];
  const check = { health_check_enabled: true, health_check_type: "cmd", health_check_command: "up" } as const;
  const application = await world.application({ ...check, health_check_timeout: 3600 });
  const engineFor = world.engine.for;
  world.engine.for = (owner) => {
    const engine = engineFor(owner);
    return {
      ...engine,
      exec: async (_ref, _script, { timeoutSeconds }) => {
        timeouts.push(timeoutSeconds);
        return { exitCode: 0, output: "", isTruncated: false };
      },
    };
  };
  const first = world.worker();
  expect((await world.ended(await world.deploy(application))).status).toBe("finished");
  // The deployment itself waits as long as configured; it may be watched already.
  expect(timeouts[0]).toBe(3600);
  first.kill();
  world.worker();
  await until(() => timeouts.length > 1, { what: "it is watched" });
  expect(timeouts[1]).toBe(30);
  await world.close();
});

test("applications of one server that hang keep those of no other from being watched", async () => {
  database ??= await testDatabase();
  const world = await openWorld(database);
  const probed: string[] = [];
  const adaptersOf = async (answer: () => Promise<unknown>): Promise<ServerAdapters> => {
    const { server, engine: made } = await world.buildServer();
    const engine = made.for(life());
    const exec: ServerAdapters["engine"]["exec"] = async ({ deploymentUuid }) => {
      probed.push(deploymentUuid);
      await answer();
      return { exitCode: 0, output: "", isTruncated: false };
    };
    const { proxy } = world;
    const health = replicaHealth();
    const router = createRouter(world.system, { serverId: server.id, engine, proxy, replicaHealth: health });
    const own = { router, replicaHealth: health, connect: undefined, machine: undefined };
    return { server, engine: { ...engine, exec }, proxy, ...own };
  };
  const watched = (deploymentUuid: string): Watched => ({
    state: {
      ...{ resourceUuid: deploymentUuid, deploymentUuid, state: "running", upstream: null },
      ...{ restartCount: 0, exitCode: null, startedAt: new Date() },
    },
    check: {
      probe: { type: "command", script: "up" },
      ...{ intervalSeconds: 1, timeoutSeconds: 1, failuresMax: 1, startPeriodSeconds: 0 },
    },
  });
  const gate = Promise.withResolvers<void>();
  const stuck = await adaptersOf(() => gate.promise);
  const other = await adaptersOf(async () => undefined);
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const watch = createHealthWatch({ logger, clock: { now: () => new Date() } }, () => undefined);
  watch.probe(
    stuck,
    Array.from({ length: 50 }, (_none, number) => watched(`stuck-${number}`)),
  );
  watch.probe(other, [watched("other")]);
  await until(() => watch.health([{ deploymentUuid: "other" }]).get("other") === "healthy", { what: "it is healthy" });
  expect(probed.length).toBeLessThan(20);
  gate.resolve();
  await watch.stop();
  await world.close();
});

test("a replica that fails its check is unhealthy until it passes again, whatever the others do", async () => {
  const health = replicaHealth();
  const failing = new Set(["replica-2"]);
  const probed: string[] = [];
  const exec: ServerAdapters["engine"]["exec"] = async (_ref, _script, { container = "" }) => {
    probed.push(container);
    return { exitCode: failing.has(container) ? 1 : 0, output: "", isTruncated: false };
  };
  // Nothing else is used here.
  const adapters = { server: { id: 1 }, engine: { exec }, replicaHealth: health } as unknown as ServerAdapters;
  const replica = (number: number) => ({
    ...{
      name: "replica",
      isReplica: true as const,
      number,
      state: "running" as const,
      restartCount: 0,
      exitCode: null,
    },
    ...{ startedAt: new Date(), address: `192.0.2.${number}`, port: 3000, isExcluded: false },
  });
  const state: ReleaseState = {
    ...{ resourceUuid: "r", deploymentUuid: "d", state: "running", upstream: null },
    ...{ restartCount: 0, exitCode: null, startedAt: new Date(), containers: [1, 2, 3].map(replica) },
  };
  const check = {
    probe: { type: "command", script: "up" } as const,
    ...{ intervalSeconds: 0, timeoutSeconds: 1, failuresMax: 3, startPeriodSeconds: 0 },
  };
  const unhealthy = () =>
    health.appliedTo(state).containers?.flatMap(({ number, health: own }) => (own === "unhealthy" ? [number] : []));
  let changes = 0;
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const watch = createHealthWatch({ logger, clock: { now: () => new Date() } }, () => {
    changes += 1;
  });
  const isUnhealthy = (wanted: readonly number[]) =>
    until(
      () => {
        watch.probe(adapters, [{ state, check }]);
        return unhealthy()?.join() === wanted.join() ? true : undefined;
      },
      { what: `unhealthy are ${wanted}` },
    );
  await isUnhealthy([2]);
  // Three failures in a row, not one.
  expect(probed.filter((one) => one === "replica-2").length).toBeGreaterThanOrEqual(3);
  expect(changes).toBeGreaterThan(0);
  failing.clear();
  await isUnhealthy([]);
  failing.add("replica-1");
  await isUnhealthy([1]);
  watch.probe(adapters, []);
  expect(unhealthy()).toEqual([]);
  await watch.stop();
});
