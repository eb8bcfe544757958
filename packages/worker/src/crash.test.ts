import type { ApplicationRecord, DeploymentRecord } from "@berth/core/ports";
import { type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

async function inWorld<T>(work: (world: World) => Promise<T>): Promise<T> {
  const world = await openWorld(database);
  try {
    return await work(world);
  } finally {
    await world.close();
  }
}

/** A serving release and a second deployment to disturb. Every request must be answered throughout. */
async function prepare(world: World, settings = {}) {
  const worker = world.worker();
  const application = await world.application(settings);
  const first = await world.deploy(application);
  expect(await world.ended(first)).toMatchObject({ error: null, status: "finished" });
  await until(async () => (await world.steps(first)).retire === "skipped", {
    what: "the first deployment has retired nothing",
  });
  return { worker, application, first };
}

function askAllTheTime(world: World, application: ApplicationRecord) {
  const answers = new Set<string>();
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      answers.add(await world.proxy.request(application.uuid));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return async () => {
    isOver = true;
    await asking;
    return answers;
  };
}

async function expectOnly(world: World, application: ApplicationRecord, deployment: DeploymentRecord) {
  await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
    what: "the new release serves",
  });
  await until(() => world.engine.artifacts().join() === deployment.uuid, { what: "only the new release is left" });
  await until(() => world.engine.releases().every((each) => each.deploymentUuid === deployment.uuid), {
    what: "nothing else runs",
  });
  await until(async () => (await world.steps(deployment)).retire === "done", { what: "the step retire is done" });
  expect(world.engine.starts.get(deployment.uuid)).toBe(1);
  expect(world.engine.violations).toEqual([]);
  expect(world.source.checkouts.size).toBe(0);
}

describe("a worker that is killed", () => {
  test.each([
    ["checkout", { checkout: 3, build: 2 }],
    // The interrupted build may have used up the checkout.
    ["build", { checkout: 3, build: 3 }],
    ["start", { checkout: 2, build: 2 }],
    ["put", { checkout: 2, build: 2 }],
  ])("during %s is followed by one that continues there", (point, counts) =>
    inWorld(async (world) => {
      const { worker, application, first } = await prepare(world);
      const stopAsking = askAllTheTime(world, application);
      const held = world.points.hold(point);
      const second = await world.deploy(application);
      await held.reached;
      worker.kill();
      world.worker();
      expect((await world.ended(second)).status).toBe("finished");
      await expectOnly(world, application, second);
      expect(await stopAsking()).toEqual(new Set([first.uuid, second.uuid]));
      for (const [step, count] of Object.entries(counts)) expect(world.points.count(step)).toBe(count);
      expect(await world.log(second)).toContain("Resuming after a restart of the control plane.");
    }),
  );

  test("during the first start leaves a record of the release that it may have started", () =>
    inWorld(async (world) => {
      const { worker, application } = await prepare(world);
      const held = world.points.hold("start");
      const second = await world.deploy(application);
      await held.reached;
      worker.kill();
      expect(await world.system.releases.find(second.id)).toMatchObject({ role: "candidate", upstream: null });
      world.worker();
      expect((await world.ended(second)).status).toBe("finished");
    }));

  test("during the health check is followed by one that checks on", () =>
    inWorld(async (world) => {
      const { worker, application, first } = await prepare(world);
      let statusCode = 503;
      world.engine.behave = () => ({ statusCode: () => statusCode });
      const stopAsking = askAllTheTime(world, application);
      const second = await world.deploy(application);
      await until(async () => (await world.steps(second)).health === "running", { what: "it is being checked" });
      worker.kill();
      world.worker();
      await until(async () => (await world.find(second)).attempt === 2, { what: "it is taken over" });
      statusCode = 200;
      expect((await world.ended(second)).status).toBe("finished");
      await expectOnly(world, application, second);
      expect(await stopAsking()).toEqual(new Set([first.uuid, second.uuid]));
    }));

  test("during the pre-deployment command is not followed by a second run of it", () =>
    inWorld(async (world) => {
      const { worker, application, first } = await prepare(world, { pre_deployment_command: "migrate" });
      const held = world.points.hold("exec");
      const second = await world.deploy(application);
      await held.reached;
      worker.kill();
      world.worker();
      const ended = await world.ended(second);
      expect(ended.status).toBe("failed");
      expect(ended.error).toMatch(/^The control plane stopped while the pre-deployment command ran/);
      expect(world.engine.executed).toHaveLength(1);
      expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
      expect(world.engine.artifacts()).toEqual([first.uuid]);
    }));

  test("during the post-deployment command has finished the deployment all the same", () =>
    inWorld(async (world) => {
      const { worker, application } = await prepare(world);
      await world.stores.applications.update(application.id, { settings: { post_deployment_command: "warm up" } });
      const held = world.points.hold("exec");
      const second = await world.deploy(application);
      await held.reached;
      worker.kill();
      world.worker();
      expect((await world.ended(second)).status).toBe("finished");
      expect(world.engine.executed).toHaveLength(1);
      expect(await world.log(second)).toContain("it is not run again");
      await expectOnly(world, application, second);
    }));

  test("while it undoes a deployment is followed by one that undoes it to the end", () =>
    inWorld(async (world) => {
      const { worker, application, first } = await prepare(world);
      world.engine.behave = () => ({ exitCode: 9 });
      const held = world.points.hold("remove");
      const second = await world.deploy(application);
      await held.reached;
      worker.kill();
      world.worker();
      const ended = await world.ended(second);
      expect(ended.status).toBe("failed");
      expect(ended.error).toBe("The new release crashed: it exited with code 9.");
      expect(world.engine.artifacts()).toEqual([first.uuid]);
      expect(await world.steps(second)).toMatchObject({ build: "undone", start: "undone", health: "failed" });
    }));

  test("again and again does not keep a deployment for ever", () =>
    inWorld(async (world) => {
      const application = await world.application();
      const deployment = await world.deploy(application);
      for (let kills = 0; kills < 2; kills++) {
        const held = world.points.hold("build");
        const worker = world.worker({ settings: { attemptsMax: 2 } });
        await held.reached;
        worker.kill();
      }
      world.worker({ settings: { attemptsMax: 2 } });
      const ended = await world.ended(deployment);
      expect(ended.status).toBe("failed");
      expect(ended.error).toBe("The control plane stopped 2 times during this deployment. Deploy again.");
    }));

  test("in a step that cannot be repeated is followed by one that undoes it", () =>
    inWorld(async (world) => {
      const undone: string[] = [];
      const held = world.points.hold("own");
      const step = {
        name: "build" as const,
        resumable: false,
        run: async () => {
          await world.points.pass("own");
          return {};
        },
        undo: async () => void undone.push("build"),
      };
      const application = await world.application();
      const deployment = await world.deploy(application);
      const worker = world.worker({ steps: [step] });
      await held.reached;
      worker.kill();
      world.worker({ steps: [step] });
      const ended = await world.ended(deployment);
      expect(ended.error).toBe(
        "The control plane stopped during the step build, which cannot be repeated. Deploy again.",
      );
      expect(undone).toEqual(["build"]);
      expect(world.points.count("own")).toBe(1);
    }));
});

/** Calls that change something outside of the worker. */
const CHANGES = new Set([
  "transaction",
  ...["claimNext", "saveStep", "finish"].map((name) => `deployments.${name}`),
  ...["promote", "delete"].map((name) => `releases.${name}`),
  ...["build", "start", "stop", "remove"].map((name) => `engine.${name}`),
  ...["put", "sync", "delete"].map((name) => `proxy.${name}`),
  ...["checkout", "removeCheckout"].map((name) => `source.${name}`),
  "resources.setStatus",
]);

/** Outcomes of the second deployment without disturbance, and how to cause each. */
const SCENARIOS = {
  finished: { end: "finished", begin: async () => undefined },
  failed: {
    end: "failed",
    begin: async (world: World) => {
      world.engine.behave = () => ({ exitCode: 9 });
    },
  },
  cancelled: {
    end: "cancelled-by-user",
    begin: async (world: World, deployment: DeploymentRecord) => {
      const held = world.points.hold("build");
      void held.reached.then(() => world.stores.deployments.requestCancel(deployment.uuid));
    },
  },
} as const;

describe("a worker that is killed behind any change it makes", () => {
  /**
   * Kills the worker after the n-th change, before it learns the result. @returns Whether there were so many changes.
   */
  const disturb = (at: number, { end, begin }: (typeof SCENARIOS)[keyof typeof SCENARIOS]) =>
    inWorld(async (world) => {
      const { worker, application, first } = await prepare(world);
      await worker.stop({ graceSeconds: 1 });
      const stopAsking = askAllTheTime(world, application);
      const second = await world.deploy(application);
      await begin(world, second);
      let changes = 0;
      let isOver = false;
      const after = (name: string) => {
        if (!CHANGES.has(name)) return;
        changes += 1;
        if (changes === at && !isOver) doomed.kill();
      };
      const doomed = world.worker({ watch: { after } });
      const isDone = async () => /done|skipped/.test((await world.steps(second)).retire ?? "");
      await until(async () => doomed.life.isOver || (await isDone()), { what: "it is killed or done" });
      isOver = true;
      const wasKilled = doomed.life.isOver;
      if (!wasKilled) await doomed.stop({ graceSeconds: 1 });
      world.worker();
      const ended = await world.ended(second);
      expect(ended.status).toBe(end);
      if (end === "finished") await expectOnly(world, application, second);
      else await expectUndone(world, application, first, second);
      expect(await stopAsking()).toEqual(new Set(end === "finished" ? [first.uuid, second.uuid] : [first.uuid]));
      return wasKilled;
    });

  test.each(["finished", "failed", "cancelled"] as const)(
    "is followed by one that brings it to its end (%s), and every request is answered",
    async (name) => {
      let killed = 0;
      for (let from = 1, isLast = false; !isLast; from += CONCURRENT) {
        const numbers = Array.from({ length: CONCURRENT }, (_, index) => from + index);
        const kills = await Promise.all(numbers.map((at) => disturb(at, SCENARIOS[name])));
        killed += kills.filter(Boolean).length;
        isLast = kills.includes(false);
      }
      expect(killed).toBeGreaterThan(15);
    },
    420_000,
  );
});

async function expectUndone(
  world: World,
  application: ApplicationRecord,
  first: DeploymentRecord,
  second: DeploymentRecord,
) {
  expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
  expect(await world.system.releases.find(second.id)).toBeUndefined();
  expect(world.engine.artifacts()).toEqual([first.uuid]);
  expect(world.engine.releases().map(({ deploymentUuid }) => deploymentUuid)).toEqual([first.uuid]);
  expect(world.engine.violations).toEqual([]);
  expect(world.source.checkouts.size).toBe(0);
  const statuses = Object.values(await world.steps(second));
  expect(statuses.filter((status) => ["running", "pending", "done"].includes(status))).toEqual([]);
}

const CONCURRENT = 6;

describe("a worker that was suspended", () => {
  /** A worker that still believes in its lease and gets no notifications: only fences keep it out. */
  async function suspend(world: World, point: string) {
    const { worker, application, first } = await prepare(world);
    await worker.stop({ graceSeconds: 1 });
    const calls: string[] = [];
    const { system } = world;
    const stores = {
      ...system,
      deployments: {
        ...system.deployments,
        renew: async (_: string, uuids: readonly string[]) =>
          uuids.map((uuid) => ({ uuid, is_cancel_requested: false })),
      },
    };
    const watch = { before: (name: string) => void calls.push(name) };
    const late = world.worker({
      stores,
      watch,
      settings: { leaseSeconds: 60, pollSeconds: 60, idleSeconds: 60, reconcileSeconds: 60 },
    });
    const held = world.points.hold(point);
    const second = await world.deploy(application);
    await held.reached;
    late.pause();
    late.life.freeze();
    await system.deployments.renew(late.name, [second.uuid], 0);
    world.worker();
    const wake = async () => {
      calls.length = 0;
      held.open();
      late.life.thaw();
      await until(() => calls.includes("transaction"), {
        what: "it tries to go on",
      });
      await late.stop({ graceSeconds: 0 });
      // It may still reconcile the server, so those calls are not counted.
      expect(calls.filter((name) => /^(engine\.(build|start)|source|releases\.promote)/.test(name))).toEqual([]);
    };
    return { application, first, second, wake };
  }

  test("cannot revive a deployment that was cancelled in the meantime", () =>
    inWorld(async (world) => {
      const { application, first, second, wake } = await suspend(world, "build");
      await world.stores.deployments.requestCancel(second.uuid);
      expect((await world.ended(second)).status).toBe("cancelled-by-user");
      await wake();
      expect((await world.find(second)).status).toBe("cancelled-by-user");
      expect(await world.steps(second)).toMatchObject({ build: "cancelled", start: "skipped" });
      expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
    }));

  test("undoes nothing of what its successor has made", () =>
    inWorld(async (world) => {
      const { application, second, wake } = await suspend(world, "start");
      expect((await world.ended(second)).status).toBe("finished");
      await wake();
      expect((await world.find(second)).status).toBe("finished");
      await expectOnly(world, application, second);
    }));
});

describe("a worker that is stopped", () => {
  test("leaves its deployment to the next start, which continues at once", () =>
    inWorld(async (world) => {
      const settings = { leaseSeconds: 30, renewSeconds: 5 };
      const worker = world.worker({ settings });
      const application = await world.application();
      const held = world.points.hold("build");
      const deployment = await world.deploy(application);
      await held.reached;
      await worker.stop({ graceSeconds: 0.1 });
      expect(await world.find(deployment)).toMatchObject({ status: "in_progress", attempt: 1 });
      expect(await world.steps(deployment)).toMatchObject({ checkout: "done", build: "running" });
      world.worker({ settings });
      expect((await world.ended(deployment)).status).toBe("finished");
      expect(await world.find(deployment)).toMatchObject({ attempt: 2 });
    }));

  test("lets the step that runs end within the grace time", () =>
    inWorld(async (world) => {
      const worker = world.worker();
      const application = await world.application();
      const held = world.points.hold("build");
      const deployment = await world.deploy(application);
      await held.reached;
      const stopped = worker.stop({ graceSeconds: 10 });
      held.open();
      await stopped;
      expect(await world.steps(deployment)).toMatchObject({ build: "done", start: "pending" });
      world.worker();
      expect((await world.ended(deployment)).status).toBe("finished");
      expect(world.points.count("build")).toBe(1);
    }));

  test("ends a cancel that is under way", () =>
    inWorld(async (world) => {
      const worker = world.worker();
      const application = await world.application();
      const held = world.points.hold("build");
      const removal = world.points.hold("remove");
      const deployment = await world.deploy(application);
      await held.reached;
      await world.stores.deployments.requestCancel(deployment.uuid);
      await removal.reached;
      const stopped = worker.stop({ graceSeconds: 5 });
      removal.open();
      await stopped;
      expect((await world.find(deployment)).status).toBe("cancelled-by-user");
    }));
});

describe("several workers", () => {
  test("run every deployment exactly once, and no more at once than the server allows", async () => {
    const world = await openWorld(database, { concurrent_builds: 3 });
    try {
      const applications = await Promise.all(Array.from({ length: 12 }, () => world.application()));
      let busy = 0;
      let busiest = 0;
      const watch = {
        before: (name: string) => {
          if (name === "engine.build") busiest = Math.max(busiest, ++busy);
        },
        after: (name: string) => {
          if (name === "engine.build") busy -= 1;
        },
      };
      const deployments = await Promise.all(applications.map((application) => world.deploy(application)));
      for (let count = 0; count < 4; count++) world.worker({ watch, settings: { leaseSeconds: 30, renewSeconds: 5 } });
      const ended = await Promise.all(deployments.map((deployment) => world.ended(deployment)));
      expect(new Set(ended.map(({ status }) => status))).toEqual(new Set(["finished"]));
      expect(ended.map(({ attempt }) => attempt)).toEqual(ended.map(() => 1));
      expect(world.points.count("build")).toBe(12);
      expect(busiest).toBeLessThanOrEqual(3);
      for (const { uuid } of deployments) expect(world.engine.starts.get(uuid)).toBe(1);
      expect(world.engine.violations).toEqual([]);
    } finally {
      await world.close();
    }
  });

  test("run one deployment of an application after the other", () =>
    inWorld(async (world) => {
      const application = await world.application();
      const held = world.points.hold("build");
      const first = await world.deploy(application, { commit: "1".repeat(40) });
      const second = await world.deploy(application, { commit: "2".repeat(40) });
      for (let count = 0; count < 2; count++) world.worker();
      await held.reached;
      expect((await world.find(second)).status).toBe("queued");
      held.open();
      expect((await world.ended(first)).status).toBe("finished");
      expect((await world.ended(second)).status).toBe("finished");
      await expectOnly(world, application, second);
    }));

  test("claim nothing while they are paused", () =>
    inWorld(async (world) => {
      const worker = world.worker();
      worker.pause();
      const deployment = await world.deploy(await world.application());
      await until(() => world.points.count("sync") > 0, { what: "the server is looked at" });
      expect((await world.find(deployment)).status).toBe("queued");
      worker.resume();
      expect((await world.ended(deployment)).status).toBe("finished");
    }));
});
