import { isTerminal, liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord } from "@berth/core/ports";
import { type TestDatabase, testDatabase, until } from "@berth/testing";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openWorld, type TestWorker, type World } from "./world.fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

const APPLICATIONS = 2;
const application = fc.nat({ max: APPLICATIONS - 1 });

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("deploy" as const), application, isBroken: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("restart" as const), application }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("cancel" as const), application }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("stop" as const), application }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("start" as const), application }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("crash" as const), application }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("kill" as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("hand over" as const) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("pass" as const), events: fc.integer({ min: 1, max: 40 }) }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

interface Stage {
  readonly world: World;
  readonly applications: readonly ApplicationRecord[];
  readonly deployments: DeploymentRecord[];
  readonly broken: Set<string>;
  worker: TestWorker;
  /** Number of calls by workers. */
  calls: number;
}

test("whatever users do and however often the worker dies, everything settles as it should be", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 14 }), async (actions) => {
      const world = await openWorld(database);
      try {
        const stage = await setStage(world);
        for (const next of actions) await perform(stage, next);
        await expectRest(stage);
      } finally {
        await world.close();
      }
    }),
    { numRuns: 6, endOnFailure: true },
  );
});

async function setStage(world: World): Promise<Stage> {
  const broken = new Set<string>();
  world.engine.behave = ({ deploymentUuid }) => (broken.has(deploymentUuid) ? { exitCode: 1 } : {});
  const applications = [];
  for (let count = 0; count < APPLICATIONS; count++) applications.push(await world.application());
  const stage: Stage = { world, applications, deployments: [], broken, worker: world.worker(), calls: 0 };
  replaceWorker(stage);
  return stage;
}

function replaceWorker(stage: Stage): void {
  stage.worker.kill();
  stage.worker = stage.world.worker({ watch: { after: () => void stage.calls++ } });
}

async function perform(stage: Stage, action: Action): Promise<void> {
  const target = "application" in action ? stage.applications[action.application] : undefined;
  switch (action.type) {
    case "kill":
      return replaceWorker(stage);
    case "hand over":
      await stage.worker.stop({ graceSeconds: 0.05 });
      return replaceWorker(stage);
    case "pass": {
      const calls = stage.calls + action.events;
      return void (await until(() => stage.calls >= calls, { what: "the worker continues" }));
    }
    default:
      if (target !== undefined) return await performOn(stage, target, action);
  }
}

async function performOn(stage: Stage, target: ApplicationRecord, action: Action): Promise<void> {
  const { world, deployments, broken } = stage;
  switch (action.type) {
    case "deploy":
    case "restart": {
      const commit = `${deployments.length}`.padStart(40, "0");
      const deployment = await world.deploy(target, { commit, restart_only: action.type === "restart" });
      if (action.type === "deploy" && action.isBroken) broken.add(deployment.uuid);
      deployments.push(deployment);
      return;
    }
    case "cancel": {
      const own = deployments.filter(({ resource_id }) => resource_id === target.id);
      const last = own.at(-1);
      if (last !== undefined) await world.stores.deployments.requestCancel(last.uuid);
      return;
    }
    case "stop":
      return await world.stores.resources.setDesiredState(target.id, "stopped");
    case "start":
      return await world.stores.resources.setDesiredState(target.id, "running");
    case "crash": {
      const live = await world.system.releases.live(liveKeyOf(target));
      if (live !== undefined) await world.engine.crash(live.deployment_uuid, 1);
    }
  }
}

async function expectRest({ world, applications, deployments }: Stage): Promise<void> {
  for (const { id } of applications) await world.stores.resources.setDesiredState(id, "running");
  for (const deployment of deployments) await world.ended(deployment);
  const { system, engine, proxy } = world;

  const lives = new Map<string, string>();
  for (const application of applications) {
    const { id, uuid } = application;
    const live = await system.releases.live(liveKeyOf(application));
    const finished = [];
    for (const deployment of deployments) {
      const { status, resource_id } = await world.find(deployment);
      if (resource_id === id && status === "finished") finished.push(deployment.uuid);
    }
    // The newest successful deployment is live and serves.
    expect(live?.deployment_uuid).toBe(finished.at(-1));
    await until(async () => (await proxy.request(uuid)) === (live?.deployment_uuid ?? "503"), {
      what: "what is live serves",
    });
    if (live !== undefined) lives.set(live.deployment_uuid, live.built_by);
  }
  const sorted = (uuids: Iterable<string>) => [...uuids].sort().join();
  const running = () => engine.releases().filter(({ state }) => state === "running");
  await until(() => sorted(running().map((state) => state.deploymentUuid)) === sorted(lives.keys()), {
    what: "only what is live runs",
  });
  await until(() => sorted(engine.artifacts()) === sorted(new Set(lives.values())), {
    what: "only what is used is kept",
  });
  for (const deployment of deployments) {
    await until(
      async () => {
        const statuses = Object.values(await world.steps(deployment));
        return statuses.every((status) => status !== "running" && status !== "pending");
      },
      { what: "every step has ended" },
    );
    expect(isTerminal((await world.find(deployment)).status)).toBe(true);
  }
  expect(engine.violations).toEqual([]);
  expect([...world.source.checkouts]).toEqual([]);
}
