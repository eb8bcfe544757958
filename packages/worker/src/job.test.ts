import { DomainError } from "@berth/core";
import type { ApplicationRecord, JobRecord, NewJob, ServerRecord, Stores } from "@berth/core/ports";
import type { JobType } from "@berth/core/server";
import { testApplication, testPlace, testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import { outputTail } from "./engine-installation.ts";
import { fakeMachine } from "./fake-machine.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

async function requested(tx: Stores, type: NewJob["type"], subject: NewJob["subject"]): Promise<JobRecord> {
  const [job] = await tx.jobs.request([{ uuid: testUuid(), type, subject }]);
  if (job === undefined) throw new Error("No job was queued.");
  return job;
}

const validation = (server: ServerRecord): Promise<JobRecord> =>
  world.stores.transaction(async (tx) => {
    await tx.servers.update(server.uuid, { is_validating: true });
    return requested(tx, "server.validate", { ...server, type: "server" });
  });

const removal = (application: ApplicationRecord): Promise<JobRecord> =>
  world.stores.transaction(async (tx) => {
    await tx.resources.markRemoving(application.id, { delete_volumes: true });
    return requested(tx, "resource.delete", { ...application, type: "application" });
  });

/** Requests a forced deletion. */
const deletion = (server: ServerRecord): Promise<JobRecord> =>
  world.stores.transaction(async (tx) => {
    await tx.servers.markRemoving(server.id);
    for (const resource of await tx.resources.markRemovingOn(server.id, { delete_volumes: true })) {
      await requested(tx, "resource.delete", { ...resource, type: resource.kind });
    }
    return requested(tx, "server.delete", { ...server, type: "server" });
  });

const find = async ({ uuid }: Pick<JobRecord, "uuid">) => {
  const job = await world.stores.jobs.find(uuid);
  if (job === undefined) throw new Error("The job is gone.");
  return job;
};
const ended = (job: JobRecord) =>
  until(
    async () => {
      const found = await find(job);
      return found.finished_at === null ? undefined : found;
    },
    { what: "the job ends" },
  );
const serverOf = async ({ uuid }: ServerRecord) => {
  const server = await world.stores.servers.find(uuid);
  if (server === undefined) throw new Error("The server is gone.");
  return server;
};

/** A server that no worker reaches. */
async function docker(): Promise<{ server: ServerRecord; application: ApplicationRecord }> {
  const place = await testPlace(world.stores);
  const ip = `${testUuid()}.example`;
  const server = await world.stores.servers.insert({
    ...place.server,
    uuid: testUuid(),
    engine: "docker",
    ip,
  });
  const fields = { uuid: testUuid(), server_id: server.id, name: "berth", network: "berth" };
  const destination = await world.stores.destinations.insert(fields);
  return { server, application: await testApplication(world.stores, { ...place, server, destination }) };
}

/** Records a deployment, after which its engine may have objects of it. */
async function ranOnce(application: ApplicationRecord): Promise<void> {
  await world.deploy(application);
  const claimed = await world.system.deployments.claimNext({ owner: "dead", leaseSeconds: 60 }, [
    application.server_id,
  ]);
  if (claimed) await world.system.deployments.finish(claimed.lease, "failed", "No luck.");
}

describe("validating a server", () => {
  test("finds that engine, proxy and disk are well", async () => {
    world.worker();
    const { settings } = world.server;
    await world.stores.servers.update(world.server.uuid, { settings: { ...settings, is_usable: false } });
    const job = await validation(world.server);
    expect(await ended(job)).toMatchObject({ status: "finished", error: null, attempts: 1 });
    expect(await serverOf(world.server)).toMatchObject({
      is_validating: false,
      validation_logs: null,
      settings: { is_reachable: true, is_usable: true },
    });
  });

  test("says what does not work", async () => {
    world.points.fail("list", new DomainError("engine.unreachable", "It sleeps."), 10_000);
    world.points.fail("inFlight", new Error("socket /secret/path is gone"), 10_000);
    world.disk = { totalBytes: 1000, freeBytes: 0 };
    world.worker();
    const error =
      "Its engine does not work: It sleeps.\nIts proxy does not work.\nIts disk is full: 0 MB are free, 256 MB are needed.";
    expect(await ended(await validation(world.server))).toMatchObject({ status: "failed", error });
    expect(await serverOf(world.server)).toMatchObject({
      is_validating: false,
      validation_logs: error,
      settings: { is_reachable: false, is_usable: false },
    });
  });

  test("does not wait for ever", async () => {
    const held = world.points.hold("inFlight");
    world.worker();
    const { status, error } = await ended(await validation(world.server));
    expect([status, error]).toEqual(["failed", "Its proxy does not answer within 1 s."]);
    held.open();
  });

  test("of a server that no control plane reaches says so", async () => {
    world.worker();
    const { server } = await docker();
    const { status, error } = await ended(await validation(server));
    expect([status, error]).toEqual(["failed", expect.stringMatching(/machine of another control plane/)]);
    expect(await serverOf(server)).toMatchObject({ validation_logs: error, settings: { is_usable: false } });
  });

  test("of a server with Docker finds what its machine is, and what it lacks", async () => {
    world.machine = fakeMachine();
    world.worker();
    const { server } = await docker();
    expect(await ended(await validation(server))).toMatchObject({ status: "finished", error: null });
    const well = { is_validating: false, validation_logs: null, server_metadata: { architecture: "amd64" } };
    expect(await serverOf(server)).toMatchObject({ ...well, settings: { is_reachable: true, is_usable: true } });
    world.machine = fakeMachine({ inspection: { engineProblem: "No socket. Install Docker.", facts: null } });
    expect(await ended(await validation(server))).toMatchObject({
      status: "failed",
      error: "No socket. Install Docker.",
    });
    const { settings, server_metadata } = await serverOf(server);
    expect([settings.is_reachable, settings.is_usable, server_metadata]).toEqual([true, false, null]);
  });

  test("of a server with the engine of another one refuses it, and leaves the other as it is", async () => {
    world.machine = fakeMachine({ inspection: { engineId: testUuid() } });
    world.worker();
    const [{ server: first }, { server: second }] = [await docker(), await docker()];
    await ended(await validation(first));
    const { status, error } = await ended(await validation(second));
    const refused = `Server ${second.name} has the same Docker engine as server ${first.name}, `;
    expect([status, error]).toEqual(["failed", expect.stringContaining(refused)]);
    expect(await serverOf(second)).toMatchObject({
      validation_logs: error,
      settings: { is_reachable: true, is_usable: false },
    });
    expect(await ended(await validation(first))).toMatchObject({ status: "finished", error: null });
  });

  test("is finished by the next worker when one is killed in the middle", async () => {
    const held = world.points.hold("inFlight");
    const worker = world.worker();
    const job = await validation(world.server);
    await held.reached;
    expect(await find(job)).toMatchObject({ status: "in_progress", attempts: 1 });
    worker.kill();
    world.worker();
    expect(await ended(job)).toMatchObject({ status: "finished", attempts: 2 });
    expect((await serverOf(world.server)).is_validating).toBe(false);
    held.open();
  });

  test("is given up when it brought down one worker after the other", async () => {
    const job = await validation(world.server);
    for (let attempt = 1; attempt <= 10; attempt++) {
      const { claim } = world.system.jobs;
      await until(() => claim(["server.validate"], [world.server.id], { owner: "x", leaseSeconds: 0 }), {
        what: "it is claimed",
      });
    }
    world.worker();
    const { status, error } = await ended(job);
    expect([status, error]).toEqual(["failed", "The validation was interrupted too often. Start it again."]);
  });
});

describe("installing Docker", () => {
  const installation = (server: ServerRecord): Promise<JobRecord> =>
    world.stores.transaction((tx) => requested(tx, "server.install_engine", { ...server, type: "server" }));

  test("keeps what it printed, and validates the server", async () => {
    world.machine = fakeMachine({
      async install({ onStep, onLine }) {
        onStep({ name: "Package lists", command: "apt-get update" });
        onLine("$ apt-get update");
        onStep({ name: "Packages", command: "apt-get install docker.io" });
        onLine("Setting up docker.io");
      },
    });
    world.worker();
    const { server } = await docker();
    expect(await ended(await installation(server))).toMatchObject({
      status: "finished",
      log: "$ apt-get update\nSetting up docker.io",
      // The checks of the validation follow.
      steps: [
        { name: "Package lists", result: "passed", message: "apt-get update" },
        { name: "Packages", result: "passed", message: "apt-get install docker.io" },
        { name: "Machine", result: "passed" },
        ...Array(6).fill({ result: "passed" }),
      ],
    });
    expect(await serverOf(server)).toMatchObject({ settings: { is_reachable: true, is_usable: true } });
  });

  test("shows its steps and what it prints while it runs", async () => {
    const goOn = Promise.withResolvers<void>();
    world.machine = fakeMachine({
      async install({ onStep, onLine }) {
        onStep({ name: "Package lists", command: "apt-get update" });
        onStep({ name: "Packages", command: "apt-get install docker.io" });
        onLine("Unpacking docker.io");
        await goOn.promise;
      },
    });
    world.worker();
    const { server } = await docker();
    const job = await installation(server);
    await expect
      .poll(() => find(job), { timeout: 10_000 })
      .toMatchObject({
        status: "in_progress",
        log: "Unpacking docker.io",
        steps: [
          { name: "Package lists", result: "passed" },
          { name: "Packages", result: "running", message: "apt-get install docker.io" },
        ],
      });
    goOn.resolve();
    await ended(job);
  });

  test("is ended on its machine before a worker that stops has stopped, and is not over by that", async () => {
    const begun = Promise.withResolvers<void>();
    let hasEnded = false;
    world.machine = fakeMachine({
      install: async (_, signal) => {
        begun.resolve();
        await new Promise((resolve) => signal?.addEventListener("abort", resolve));
        // The machine ends it a moment later.
        await new Promise((resolve) => setImmediate(resolve));
        hasEnded = true;
        throw new DomainError("deploy.cancelled", "Cancelled.");
      },
    });
    const worker = world.worker();
    const { server } = await docker();
    const job = await installation(server);
    await begun.promise;
    await worker.stop({ graceSeconds: 0 });
    expect(hasEnded).toBe(true);
    expect((await find(job)).status).toBe("in_progress");
  });

  test("says what failed, with what it printed until then", async () => {
    world.machine = fakeMachine({
      install: async ({ onStep, onLine }) => {
        onStep({ name: "Package lists", command: "apt-get update" });
        onStep({ name: "Packages", command: "apt-get install docker.io" });
        onLine("E: No space left");
        throw new DomainError("engine.failed", "The disk is full.");
      },
    });
    world.worker();
    const { server } = await docker();
    expect(await ended(await installation(server))).toMatchObject({
      status: "failed",
      error: "The disk is full.",
      log: "E: No space left",
      steps: [
        { name: "Package lists", result: "passed", message: "apt-get update" },
        { name: "Packages", result: "failed", message: "The disk is full." },
      ],
    });
    expect(await serverOf(server)).toMatchObject({ settings: { is_usable: true } });
  });

  test("has no step that runs after the last attempt, and begins each attempt without steps", async () => {
    const { server } = await docker();
    const job = await installation(server);
    const claimed = (attemptMin: number) =>
      until(
        async () => {
          const next = await world.system.jobs.claim([job.type], [server.id], { owner: "x", leaseSeconds: 0 });
          return next !== undefined && next.lease.attempt >= attemptMin ? next.lease : undefined;
        },
        { what: "it is claimed" },
      );
    const steps = [{ name: "Packages", result: "running", message: "apt-get install docker.io" }] as const;
    await world.system.jobs.writeSteps(await claimed(1), steps);
    const begun = Promise.withResolvers<void>();
    const hang = Promise.withResolvers<void>();
    world.machine = fakeMachine({
      install: async () => {
        begun.resolve();
        await hang.promise;
      },
    });
    const worker = world.worker();
    await begun.promise;
    await expect.poll(async () => (await find(job)).steps, { timeout: 10_000 }).toEqual([]);
    worker.kill();
    hang.resolve();
    const last = await claimed(10);
    await world.system.jobs.writeSteps(last, steps);
    world.worker();
    const error = "The installation was interrupted too often. Start it again.";
    expect(await ended(job)).toMatchObject({
      status: "failed",
      error,
      steps: [{ name: "Packages", result: "failed", message: error }],
    });
  });

  test("writes what it printed one after the other, the end last", async () => {
    const first = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const { jobs } = world.system;
    let [underWay, underWayMax] = [0, 0];
    world.machine = fakeMachine({
      async install({ onStep, onLine }) {
        onStep({ name: "Packages", command: "apt-get install docker.io" });
        onLine("one");
        await first.promise;
        onLine("two");
      },
    });
    const watched: typeof jobs = {
      ...jobs,
      async writeLog(...log) {
        underWay += 1;
        underWayMax = Math.max(underWayMax, underWay);
        first.resolve();
        await release.promise;
        const isWritten = await jobs.writeLog(...log);
        underWay -= 1;
        return isWritten;
      },
      writeSteps(lease, steps) {
        // The installation has ended, and the last write of its output is asked for in the same turn.
        if (steps.every(({ result }) => result === "passed")) setImmediate(release.resolve);
        return jobs.writeSteps(lease, steps);
      },
    };
    world.worker({ settings: { leaseSeconds: 60 }, stores: { ...world.system, jobs: watched } });
    const { server } = await docker();
    expect(await ended(await installation(server))).toMatchObject({ status: "finished", log: "one\ntwo" });
    expect(underWayMax).toBe(1);
  });
});

describe("a server that does not answer", () => {
  const asked = (server: ServerRecord, type: JobType): Promise<JobRecord> =>
    world.stores.transaction((tx) => requested(tx, type, { ...server, type: "server" }));

  test("holds up no other one's installation, cleanup or change of its proxy", async () => {
    let calls = 0;
    const firstHangs = async () => {
      if (++calls === 1) await new Promise(() => undefined);
    };
    world.machine = fakeMachine({ install: firstHangs });
    const other = (await world.buildServer()).server;
    const stuck = (await world.buildServer()).server;
    // A lease that ends on a busy machine begins the job again, whose second call does not hang.
    world.worker({ settings: { leaseSeconds: 60 } });
    const first = await asked(stuck, "server.install_engine");
    await until(() => calls === 1, { what: "it has begun" });
    expect(await ended(await asked(other, "server.install_engine"))).toMatchObject({ status: "finished" });
    expect(await find(first)).toMatchObject({ status: "in_progress" });

    calls = 0;
    world.cleaner = {
      instance: "me",
      observe: async () => {
        await firstHangs();
        return [];
      },
      remove: async () => "removed",
    };
    await asked(stuck, "server.cleanup");
    await until(() => calls === 1, { what: "it has begun" });
    expect(await ended(await asked(other, "server.cleanup"))).toMatchObject({ status: "finished" });

    calls = 0;
    world.proxy.lifecycle = {
      start: firstHangs,
      restart: firstHangs,
      stop: async () => undefined,
      status: async () => ({ type: "CADDY", state: "running", image: null, startedAt: null, restartCount: 0 }),
    };
    await asked(world.server, "server.start_proxy");
    await until(() => calls === 1, { what: "it has begun" });
    expect(await ended(await asked(other, "server.start_proxy"))).toMatchObject({ status: "finished" });
  });
});

test("what an installation prints is kept by its end, and takes no more room than that", () => {
  const tail = outputTail(1000);
  const before = process.memoryUsage().heapUsed;
  for (let number = 0; number < 300_000; number++) tail.add(`${number} ${"x".repeat(300)}`.replace("x", "y"));
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000);
  const lines = tail.text().split("\n");
  expect([lines[0], lines.at(-1)?.slice(0, 8), tail.text().length]).toEqual(["…", "299999 y", 1002]);
  const short = outputTail();
  short.add("a");
  short.add("b");
  expect(short.text()).toBe("a\nb");
});

describe("the job of a removal", () => {
  test("moves with it, and ends with it", async () => {
    world.worker();
    const application = await world.application();
    await world.ended(await world.deploy(application));
    const stop = world.points.hold("remove");
    const job = await removal(application);
    await stop.reached;
    expect(await find(job)).toMatchObject({ status: "in_progress", attempts: 1, error: null });
    stop.open();
    expect(await ended(job)).toMatchObject({ status: "finished", error: null });
    expect(await world.system.resources.find(application.id)).toBeUndefined();
  });

  test.each(["build", "start", "put"])(
    "ends a deployment that is at %s, once, and leaves nothing of it",
    async (point) => {
      world.worker();
      const application = await world.application();
      const live = await world.ended(await world.deploy(application));
      const held = world.points.hold(point);
      const deployment = await world.deploy(application);
      await held.reached;
      const job = await removal(application);
      held.open();
      expect(await ended(job)).toMatchObject({ status: "finished", error: null });
      expect(await world.system.resources.find(application.id)).toBeUndefined();
      expect(await world.system.deployments.find(deployment.id)).toBeUndefined();
      expect(world.engine.releases().filter(({ resourceUuid }) => resourceUuid === application.uuid)).toEqual([]);
      expect(world.engine.artifacts()).toEqual([]);
      expect(await world.proxy.request(application.uuid)).toBe("404");
      expect(world.engine.violations).toEqual([]);
      const told = (await world.stores.events.list({})).filter(
        ({ resource_uuid }) => resource_uuid === application.uuid,
      );
      const ends = told.filter(({ payload }) => payload.deployment_uuid === deployment.uuid).map(({ type }) => type);
      expect(ends.filter((type) => type === "deployment.cancelled" || type === "deployment.finished")).toHaveLength(1);
      expect(ends).not.toContain("deployment.failed");
      expect(told.at(-1)?.type).toBe("job.finished");
      expect(live.status).toBe("finished");
    },
  );

  test("says why the last attempt failed, and is tried again", async () => {
    world.worker();
    const application = await world.application();
    await world.ended(await world.deploy(application));
    world.points.fail("remove", new DomainError("engine.failed", "The folder is busy."));
    const second = world.points.hold("remove");
    const job = await removal(application);
    await second.reached;
    expect(await find(job)).toMatchObject({ status: "in_progress", error: "The folder is busy." });
    second.open();
    expect(await ended(job)).toMatchObject({ status: "finished", attempts: 2, error: null });
  });

  test.each(["unroute", "remove", "delete"])("is not stuck when a worker is killed at %s", async (step) => {
    const names: Record<string, string> = {
      unroute: "proxy.delete",
      remove: "engine.removeResource",
      delete: "resources.delete",
    };
    const application = await world.application();
    const first = world.worker();
    await world.ended(await world.deploy(application));
    await first.stop({ graceSeconds: 1 });
    const job = await removal(application);
    const dying = world.worker({
      watch: {
        before: (name) => {
          if (name === names[step]) dying.kill();
        },
      },
    });
    await until(() => dying.life.isOver, { what: "it is killed" });
    expect(await find(job)).toMatchObject({ status: "in_progress" });
    world.worker();
    expect(await ended(job)).toMatchObject({ status: "finished" });
    expect(world.engine.releases()).toEqual([]);
  });

  test("of a preview says why an attempt failed, and is finished by the next worker", async () => {
    const first = world.worker();
    const application = await world.application();
    const preview = await world.stores.previews.open(application.id, testUuid(), { pull_request_id: 7 });
    await world.ended(await world.deploy(application, { pull_request_id: 7 }));
    world.points.fail("remove", new DomainError("engine.failed", "The folder is busy."));
    const second = world.points.hold("remove");
    const job = await world.stores.transaction(async (tx) => {
      await tx.previews.markRemoving(application.id, 7);
      const { id, uuid } = preview ?? { id: 0, uuid: "" };
      return requested(tx, "preview.delete", { type: "preview", id, uuid, name: "shop, pull request 7" });
    });
    await second.reached;
    expect(await find(job)).toMatchObject({ status: "in_progress", error: "The folder is busy." });
    first.kill();
    world.worker();
    second.open();
    expect(await ended(job)).toMatchObject({ status: "finished", error: null });
    expect(await world.stores.previews.find(application.id, 7)).toBeUndefined();
    expect(world.engine.releases()).toEqual([]);
  });

  test("ends for what never ran where no engine can be reached", async () => {
    world.worker();
    const { application } = await docker();
    const job = await removal(application);
    expect(await ended(job)).toMatchObject({ status: "finished" });
    expect(world.source.removedResources).toContain(application.uuid);
  });

  test("ends for what never ran on a server whose engine is away", async () => {
    const [never, ran] = [await world.application(), await world.application()];
    await ranOnce(ran);
    world.points.fail("list", new DomainError("engine.unreachable", "It sleeps."), 10_000);
    world.worker();
    const waiting = await removal(ran);
    expect(await ended(await removal(never))).toMatchObject({ status: "finished" });
    await until(async () => /not within reach/.test((await find(waiting)).error ?? ""), {
      what: "it says why it waits",
    });
    expect(await world.system.resources.find(ran.id)).toBeDefined();
  });
});

describe("[S49] deleting a server with what is on it", () => {
  test("removes every resource first, and then the server", async () => {
    const { server, application } = await docker();
    const job = await deletion(server);
    world.worker();
    expect(await ended(job)).toMatchObject({ status: "finished", attempts: 1 });
    expect(await world.stores.servers.find(server.uuid)).toBeUndefined();
    const { items } = await world.stores.jobs.list({ subject: application.uuid });
    expect(items).toMatchObject([{ type: "resource.delete", status: "finished" }]);
    const types = (await world.stores.events.list({}))
      .filter(({ resource_uuid }) => resource_uuid === server.uuid || resource_uuid === application.uuid)
      .map(({ type }) => type);
    expect(types.indexOf("resource.deleted")).toBeLessThan(types.indexOf("server.deleted"));
  });

  test.each(["resources.delete", "servers.deleteIfEmpty"])("continues after a kill before %s", async (call) => {
    const { server } = await docker();
    const job = await deletion(server);
    const dying = world.worker({
      watch: {
        before: (name) => {
          if (name === call) dying.kill();
        },
      },
    });
    await until(() => dying.life.isOver, { what: "it is killed" });
    expect(await world.stores.servers.find(server.uuid)).toMatchObject({ removing_at: expect.any(Date) });
    world.worker();
    expect(await ended(job)).toMatchObject({ status: "finished" });
    expect(await world.stores.servers.find(server.uuid)).toBeUndefined();
  });

  test("waits a while for a server that does not answer, and says so", async () => {
    const { server, application } = await docker();
    await ranOnce(application);
    world.worker();
    const alone = await removal(application);
    await until(async () => /not within reach/.test((await find(alone)).error ?? ""), { what: "it says why it waits" });
    expect(await find(alone)).toMatchObject({ status: "in_progress" });
    const job = await deletion(server);
    expect(await ended(job)).toMatchObject({ status: "finished" });
    expect(await find(alone)).toMatchObject({ status: "finished", error: null });
  });

  test("ends its validation too", async () => {
    const { server } = await docker();
    const check = await validation(server);
    // Another worker holds the lease.
    await world.system.jobs.claim(["server.validate"], [server.id], { owner: "other", leaseSeconds: 600 });
    world.worker();
    await ended(await deletion(server));
    expect(await find(check)).toMatchObject({
      status: "failed",
      error: "The server was deleted in the meantime.",
    });
  });
});
