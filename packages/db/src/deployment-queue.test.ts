import { setTimeout as sleep } from "node:timers/promises";
import { STEP_NAMES } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord, Lease, Stores, WakeTopic } from "@berth/core/ports";
import {
  newDeployment,
  type TestDatabase,
  testApplication,
  testPlace,
  testServer,
  testTeam,
  until,
} from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

type Fields = Parameters<typeof newDeployment>[1];

async function queued(stores: Stores, app: ApplicationRecord, fields: Fields = {}): Promise<DeploymentRecord> {
  const [answer] = await stores.deployments.enqueue([newDeployment(app, fields)]);
  if (answer?.outcome !== "queued") throw new Error(`It was ${answer?.outcome}`);
  return answer.deployment;
}

async function claimed(database: TestDatabase, app: ApplicationRecord, owner = "worker") {
  const claim = await database.system.deployments.claimNext({ owner, leaseSeconds: 60 }, [app.server_id]);
  if (claim === undefined) throw new Error("Nothing could be claimed");
  return claim;
}

async function renewed({ system: { deployments } }: TestDatabase, lease: Lease, leaseSeconds: number) {
  const uuid = (await deployments.find(lease.deployment_id))?.uuid ?? "";
  const [held] = await deployments.renew(lease.owner, [uuid], leaseSeconds);
  return held !== undefined;
}

/** As if the worker had died this long ago. */
async function loseLease(database: TestDatabase, lease: Lease): Promise<void> {
  expect(await renewed(database, lease, 0)).toBe(true);
}

onEachBackend((database) => {
  it("starts the oldest first, with a lease and its event", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, two] = [await testApplication(stores, place), await testApplication(stores, place)];
    const [first, second] = [await queued(stores, one), await queued(stores, two)];
    const claim = await claimed(database(), one);
    expect(claim.lease).toEqual({ deployment_id: first.id, owner: "worker", attempt: 1 });
    expect(claim.deployment).toMatchObject({ uuid: first.uuid, status: "in_progress", attempt: 1 });
    expect(claim.deployment.started_at).toBeInstanceOf(Date);
    expect((await claimed(database(), one)).deployment.uuid).toBe(second.uuid);
    expect(
      await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [one.server_id]),
    ).toBeUndefined();
    const started = (await stores.events.list({})).filter(({ type }) => type === "deployment.started");
    expect(started.map(({ payload }) => payload.deployment_uuid)).toEqual([first.uuid, second.uuid]);
  });

  it("lets one of a resource and pull request run, and starts those behind it that may", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores, { concurrent_builds: 10 });
    const [busy, free] = [await testApplication(stores, place), await testApplication(stores, place)];
    const [first, blocked, preview, other] = [
      await queued(stores, busy),
      await queued(stores, busy),
      await queued(stores, busy, { pull_request_id: 3 }),
      await queued(stores, free),
    ];
    const running = await claimed(database(), busy);
    expect(running.deployment.uuid).toBe(first.uuid);
    expect((await claimed(database(), busy)).deployment.uuid).toBe(preview.uuid);
    expect((await claimed(database(), busy)).deployment.uuid).toBe(other.uuid);
    expect(
      await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [busy.server_id]),
    ).toBeUndefined();
    await database().system.deployments.finish(running.lease, "finished", null);
    expect((await claimed(database(), busy)).deployment.uuid).toBe(blocked.uuid);
  });

  it("starts an instant one beyond the server's limit, but not beside another of its resource", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores, { concurrent_builds: 1 });
    const [one, two] = [await testApplication(stores, place), await testApplication(stores, place)];
    await queued(stores, one);
    const running = await claimed(database(), one);
    await queued(stores, two);
    const blocked = await queued(stores, one, { is_instant: true });
    const instant = await queued(stores, two, { is_instant: true });
    expect((await claimed(database(), one)).deployment.uuid).toBe(instant.uuid);
    expect(
      await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [one.server_id]),
    ).toBeUndefined();
    await database().system.deployments.finish(running.lease, "failed", "It broke.");
    expect((await claimed(database(), one)).deployment.uuid).toBe(blocked.uuid);
  });

  it("claims only on the servers that are named", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { server } = await testServer(stores);
    await queued(stores, app);
    const { deployments } = database().system;
    expect(await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [server.id])).toBeUndefined();
    expect(await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [])).toBeUndefined();
    expect(
      await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [server.id, app.server_id]),
    ).toBeDefined();
  });

  it("runs each deployment once and never breaks a limit, with many workers at once", async () => {
    const stores = await testTeam(database());
    const places = [
      await testPlace(stores, { concurrent_builds: 2, deployment_queue_limit: 100 }),
      await testPlace(stores, { concurrent_builds: 4, deployment_queue_limit: 100 }),
    ];
    const limits = new Map(places.map(({ server }) => [server.id, server.settings.concurrent_builds]));
    const apps: ApplicationRecord[] = [];
    for (const place of places) for (let n = 0; n < 6; n += 1) apps.push(await testApplication(stores, place));
    const all: DeploymentRecord[] = [];
    for (let round = 0; round < 2; round += 1) for (const app of apps) all.push(await queued(stores, app));
    const serverIds = [...limits.keys()];
    const { deployments } = database().system;
    const running = new Set<DeploymentRecord>();
    const done: string[] = [];

    const work = async (owner: string) => {
      while (done.length < all.length) {
        const claim = await deployments.claimNext({ owner, leaseSeconds: 60 }, serverIds);
        if (claim === undefined) {
          // Workers share what wakes them, so one may miss it. Asking more often would keep the fallback's only connection busy.
          await deployments.wakeUp(new AbortController().signal, 1);
          continue;
        }
        const { deployment, lease } = claim;
        running.add(deployment);
        const onServer = [...running].filter(({ server_id }) => server_id === deployment.server_id);
        expect(onServer.length).toBeLessThanOrEqual(limits.get(deployment.server_id) ?? 0);
        const ofResource = onServer.filter(({ resource_id }) => resource_id === deployment.resource_id);
        expect(ofResource).toHaveLength(1);
        await sleep(Math.random() * 5);
        done.push(deployment.uuid);
        running.delete(deployment);
        expect(await deployments.finish(lease, "finished", null)).toBe(true);
      }
    };
    await Promise.all(Array.from({ length: 12 }, (_, index) => work(`worker-${index}`)));
    expect(done.sort()).toEqual(all.map(({ uuid }) => uuid).sort());
    expect((await stores.deployments.listActive()).total).toBe(0);
  });

  it("runs one of a resource at a time even when its deployments lie on two servers", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    const { server, destination } = await testServer(stores);
    await queued(stores, app);
    await queued(stores, { ...app, server_id: server.id, destination_id: destination.id });
    const { deployments } = database().system;
    const claims = await Promise.all(
      [place.server.id, server.id, place.server.id, server.id].map((id) =>
        deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [id]),
      ),
    );
    expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
  });

  it("gives an abandoned deployment to exactly one worker, and refuses what the first one writes late", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { deployments, releases } = database().system;
    const { lease } = await claimed(database(), app, "dead");
    expect(await deployments.claimAbandoned("next", 60, [app.server_id])).toBeUndefined();
    await loseLease(database(), lease);
    const claims = await Promise.all(
      [1, 2, 3, 4, 5].map((n) => deployments.claimAbandoned(`next-${n}`, 60, [app.server_id])),
    );
    const [taken, ...others] = claims.filter((claim) => claim !== undefined);
    expect(others).toEqual([]);
    expect(taken?.lease).toMatchObject({ deployment_id: lease.deployment_id, attempt: 2 });

    const late = { artifact: { type: "image" as const, image: "late" }, built_by: "x", upstream: null };
    expect(await renewed(database(), lease, 60)).toBe(false);
    expect(await deployments.saveStep(lease, "build", { status: "done" })).toBe(false);
    expect(await deployments.saveCommit(lease, "late", null)).toBe(false);
    expect(await deployments.saveBuildServer(lease, app.server_id)).toBe(false);
    expect(await releases.saveCandidate(lease, late)).toBe(false);
    expect(await releases.promote(lease)).toBeUndefined();
    expect(await deployments.finish(lease, "finished", null)).toBe(false);
    expect(new Set((await deployments.steps(lease.deployment_id)).map(({ status }) => status))).toEqual(
      new Set(["pending"]),
    );
    expect(await releases.find(lease.deployment_id)).toBeUndefined();

    if (taken === undefined) throw new Error("Nobody took it over");
    expect(await renewed(database(), taken.lease, 60)).toBe(true);
    expect(await deployments.finish(taken.lease, "failed", "The worker died.")).toBe(true);
    expect(await deployments.find(lease.deployment_id)).toMatchObject({ status: "failed", error: "The worker died." });
  });

  it("takes of the team that has the fewest running, and of none that has its share", async () => {
    const [large, small] = [await testTeam(database()), await testTeam(database())];
    const [busy, quiet] = [await testPlace(large, { concurrent_builds: 10 }), await testPlace(small)];
    for (let n = 0; n < 5; n += 1) await queued(large, await testApplication(large, busy));
    const late = await queued(small, await testApplication(small, quiet));
    const serverIds = [busy.server.id, quiet.server.id];
    const { deployments } = database().system;
    const next = () => deployments.claimNext({ owner: "worker", leaseSeconds: 60, teamRunsMax: 3 }, serverIds);
    const teams = [];
    for (let claim = await next(); claim !== undefined; claim = await next()) teams.push(claim.deployment);
    expect(teams.map(({ server_id }) => server_id)).toEqual([serverIds[0], serverIds[1], serverIds[0], serverIds[0]]);
    expect(teams[1]?.uuid).toBe(late.uuid);
  });

  it("keeps a lease that was renewed in time", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { deployments } = database().system;
    const claim = await deployments.claimNext({ owner: "worker", leaseSeconds: 0.1 }, [app.server_id]);
    if (claim === undefined) throw new Error("It was queued above");
    expect(await renewed(database(), claim.lease, 60)).toBe(true);
    await sleep(150); // longer than the first lease
    expect(await deployments.claimAbandoned("other", 60, [app.server_id])).toBeUndefined();
  });

  it("writes nothing for a worker who loses its lease while it writes", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { deployments } = database().system;
    for (let round = 0; round < 10; round += 1) {
      await queued(stores, app);
      const { lease } = await claimed(database(), app, "slow");
      await loseLease(database(), lease);
      const takeOver = async () => {
        // A row that is being written is skipped, and found at the next try.
        for (;;) {
          const taken = await deployments.claimAbandoned("next", 60, [app.server_id]);
          if (taken !== undefined) return { taken, seen: await deployments.steps(lease.deployment_id) };
        }
      };
      const [isSaved, { taken, seen }] = await Promise.all([
        deployments.saveStep(lease, "build", { status: "running", output: { by: "slow" } }),
        takeOver(),
      ]);
      // The next owner sees everything written before, and nothing is written afterwards.
      expect(seen.filter(({ status }) => status !== "pending")).toHaveLength(isSaved ? 1 : 0);
      expect(await deployments.steps(lease.deployment_id)).toEqual(seen);
      await deployments.finish(taken.lease, "finished", null);
    }
  });

  it("never revives a deployment that has ended", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { deployments } = database().system;
    const { lease } = await claimed(database(), app);
    expect(await deployments.finish(lease, "cancelled-by-user", null)).toBe(true);
    for (const status of ["finished", "failed", "cancelled-by-user"] as const) {
      expect(await deployments.finish(lease, status, null)).toBe(false);
    }
    expect(await renewed(database(), lease, 60)).toBe(false);
    expect(await deployments.claimAbandoned("other", 60, [app.server_id])).toBeUndefined();
    expect(await deployments.find(lease.deployment_id)).toMatchObject({ status: "cancelled-by-user" });
  });

  it("keeps each step's start, end, result and error", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { deployments } = database().system;
    const { lease } = await claimed(database(), app);
    const id = lease.deployment_id;
    const step = async (name: string) => (await deployments.steps(id)).find((row) => row.name === name);

    expect((await deployments.steps(id)).map(({ name }) => name)).toEqual(STEP_NAMES);
    expect(await step("build")).toMatchObject({ status: "pending", started_at: null, finished_at: null });
    await deployments.saveStep(lease, "build", { status: "running" });
    const running = await step("build");
    expect(running?.started_at).toBeInstanceOf(Date);
    await deployments.saveStep(lease, "build", { status: "done", output: { image: "i\0", tags: ["a"] } });
    const done = await step("build");
    expect(done).toMatchObject({ started_at: running?.started_at, output: { image: "i\uFFFD", tags: ["a"] } });
    const failed = { error: "Too\0 big.", error_code: "deploy.build_failed" } as const;
    await deployments.saveStep(lease, "build", { status: "failed", ...failed });
    expect(await deployments.find(id)).toMatchObject({ error: null, error_code: "deploy.build_failed" });
    await deployments.saveStep(lease, "build", { status: "undone" });
    expect(await step("build")).toEqual({ ...done, ...failed, status: "undone", error: "Too\uFFFD big." });
    expect(await deployments.find(id)).toMatchObject({ error_code: null });
    await deployments.saveStep(lease, "checkout", { status: "skipped" });
    expect((await step("checkout"))?.status).toBe("skipped");
    await deployments.saveStep(lease, "build", { status: "running" });
    const again = { status: "running", error: "Too\uFFFD big.", finished_at: null };
    expect(await step("build")).toMatchObject({ ...again, output: done?.output, started_at: done?.started_at });
    await deployments.saveStep(lease, "build", { status: "done" }, { begins: "start" });
    expect(await step("build")).toMatchObject({ status: "done", output: done?.output });
    expect(await step("start")).toMatchObject({ status: "running", started_at: expect.any(Date), finished_at: null });

    await deployments.finish(lease, "finished", null);
    await deployments.saveRetirement(id, { status: "done" });
    expect(await step("retire")).toMatchObject({ status: "done" });
    expect(await stores.deployments.steps(id)).toEqual(await deployments.steps(id));
  });

  it("keeps where it is built for as long as that server is there", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { server } = await testServer(stores);
    await queued(stores, app);
    const { deployments, servers } = database().system;
    const { lease, deployment } = await claimed(database(), app);
    expect(deployment.build_server_id).toBeNull();
    const building = async () => (await deployments.listBuilding([server.id, app.server_id])).map(({ uuid }) => uuid);
    expect(await building()).toEqual([]);
    expect(await deployments.saveBuildServer(lease, server.id)).toBe(true);
    expect(await building()).toEqual([deployment.uuid]);
    expect(await deployments.find(deployment.id)).toMatchObject({ build_server_id: server.id });
    await stores.servers.markRemoving(server.id);
    expect(await servers.deleteIfEmpty(server.id)).toBe(true);
    expect(await deployments.find(deployment.id)).toMatchObject({ build_server_id: null });
    await deployments.finish(lease, "finished", null);
    expect(await building()).toEqual([]);
  });

  it("keeps the builds on a build server to its own limit, whatever the servers are that they go to", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores, { concurrent_builds: 10 });
    const { server: builder, destination } = await testServer(stores, { concurrent_builds: 2 });
    const apps = await Promise.all([1, 2, 3, 4].map(() => testApplication(stores, place)));
    const onBuilder = await testApplication(stores, { ...place, server: builder, destination });
    const { deployments } = database().system;
    const leases: Lease[] = [];
    for (const app of apps) {
      await queued(stores, app);
      const { lease } = await claimed(database(), app);
      await deployments.saveStep(lease, "build", { status: "running" });
      leases.push(lease);
    }
    const [one, two, three, four] = leases;
    if (!one || !two || !three || !four) throw new Error("There are four.");
    const take = (lease: Lease) => deployments.takeBuildServer(lease, builder.id);
    const answers = await Promise.all([one, two, three].map(take));
    expect(answers.toSorted()).toEqual(["full", "taken", "taken"]);
    // A resumed deployment still has its place.
    const [taken = one, other = two] = leases.filter((_lease, at) => answers[at] === "taken");
    const waiting = leases[answers.indexOf("full")] ?? three;
    expect(await take(taken)).toBe("taken");
    // A deployment to the build server itself needs a place there too.
    await queued(stores, onBuilder);
    expect(await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [builder.id])).toBeUndefined();
    await deployments.saveStep(taken, "build", { status: "done" });
    expect(await take(waiting)).toBe("taken");
    expect(await take(four)).toBe("full");
    await deployments.finish(other, "failed", "It broke.");
    expect((await claimed(database(), onBuilder)).deployment.server_id).toBe(builder.id);
    expect(await take(four)).toBe("full");
    await renewed(database(), four, 0);
    expect(await take({ ...four, attempt: four.attempt + 1 })).toBe("lost");
  });

  it("keeps the commit that was found, and an error with characters that PostgreSQL cannot hold", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app, { commit: "HEAD" });
    const { deployments } = database().system;
    const { lease } = await claimed(database(), app);
    expect(await deployments.saveCommit(lease, "abc123", "Say hello\uD800")).toBe(true);
    await deployments.finish(lease, "failed", "exit\0 1");
    expect(await deployments.find(lease.deployment_id)).toMatchObject({
      commit: "abc123",
      commit_message: "Say hello\uFFFD",
      error: "exit\uFFFD 1",
    });
  });

  it("lists what waits and runs on a server", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const [first, second] = [await queued(stores, app), await queued(stores, app)];
    const { deployments } = database().system;
    const listed = async () => (await deployments.listActive(app.server_id)).map(({ uuid }) => uuid);
    expect(await listed()).toEqual([first.uuid, second.uuid]);
    await deployments.finish((await claimed(database(), app)).lease, "finished", null);
    expect(await listed()).toEqual([second.uuid]);
  });

  it("wakes a worker who found nothing for what is queued, also in the moment before it waits", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { deployments } = database().system;
    expect(await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id])).toBeUndefined();
    const waiting = wokenFor(database(), ["deployment"]);
    await queued(stores, app);
    await waiting;
    const { lease } = await claimed(database(), app);
    expect(await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id])).toBeUndefined();
    const heard = new Promise<void>((resolve) => void database().database.listen("berth_queue", () => resolve()));
    await deployments.finish(lease, "finished", null);
    await heard;
    await wokenFor(database(), ["deployment", "resource"]);
  });

  it("wakes workers for what is wanted of a resource", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const resource = wokenFor(database(), ["resource"]);
    await stores.resources.setDesiredState(app.id, "running");
    await resource;
    const removal = wokenFor(database(), ["removal"]);
    await stores.resources.markRemoving(app.id, { delete_volumes: false });
    await removal;
  });

  it("has the database itself refuse a second one in progress", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    await queued(stores, app);
    await expect(
      sql`update deployment set status = 'in_progress' where resource_id = ${app.id}`.execute(
        database().database.kysely,
      ),
    ).rejects.toMatchObject({ code: "resource.already_exists" });
  });
});

/** Longer than any test may take, so only a notification can wake the worker. */
const WAKE_SECONDS = 3600;

/** Workers are woken for other topics too, which earlier changes of the test have. */
async function wokenFor({ system }: TestDatabase, wanted: readonly WakeTopic[]): Promise<void> {
  const left = new Set(wanted);
  await until(async () => {
    const topics = await system.deployments.wakeUp(new AbortController().signal, WAKE_SECONDS);
    for (const topic of topics) left.delete(topic);
    return left.size === 0;
  });
}
