import { liveKeyOf, type ServerPart } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord, Stores } from "@berth/core/ports";
import { newDeployment, type TestDatabase, testApplication, testPlace, testTeam } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

/** An application whose primary server is that of `app`, attached to that of `away` too. */
async function onTwoServers(database: TestDatabase) {
  const stores = await testTeam(database);
  const app = await testApplication(stores, await testPlace(stores));
  const { server, destination } = await testPlace(stores);
  expect(await stores.applicationDestinations.attach(app.id, destination.id)).toBe(true);
  const away = { ...app, server_id: server.id, destination_id: destination.id };
  return { stores, app, away, here: partOf(app), there: partOf(away) };
}

const partOf = (app: ApplicationRecord): ServerPart => ({ resource_id: app.id, server_id: app.server_id });

const statusOf = async (stores: Stores, { uuid }: ApplicationRecord) => (await stores.applications.find(uuid))?.status;

onEachBackend((database) => {
  it("lists the destinations of an application, the primary one first", async () => {
    const { stores, app, away } = await onTwoServers(database());
    const listed = await stores.applicationDestinations.list(app.id);
    expect(listed.map(({ server_id, destination_id }) => [server_id, destination_id])).toEqual([
      [app.server_id, app.destination_id],
      [away.server_id, away.destination_id],
    ]);
    expect(await stores.applicationDestinations.attach(app.id, away.destination_id)).toBe(false);
    expect(await stores.applicationDestinations.attach(app.id, app.destination_id)).toBe(false);
    expect(await stores.applicationDestinations.list(away.server_id + 1_000_000)).toEqual([]);
  });

  it("is on one server again when the last other one is detached", async () => {
    const { stores, app, away, there } = await onTwoServers(database());
    expect(await stores.applicationDestinations.detach(app.id, app.destination_id)).toBe(false);
    await database().system.resources.setStatus(partOf(app), "running:healthy");
    await database().system.resources.setStatus(there, "exited:unhealthy");
    expect(await statusOf(stores, app)).toBe("degraded:unhealthy");
    expect(await stores.applicationDestinations.detach(app.id, away.destination_id)).toBe(true);
    expect(await stores.applicationDestinations.list(app.id)).toEqual([]);
    expect(await statusOf(stores, app)).toBe("running:healthy");
    expect(await stores.applicationDestinations.detach(app.id, away.destination_id)).toBe(false);
  });

  it("has a status on each server and one of all", async () => {
    const { stores, app, here, there } = await onTwoServers(database());
    const { resources } = database().system;
    await resources.setStatus(here, "running:healthy");
    expect(await statusOf(stores, app)).toBe("degraded:unhealthy");
    await resources.setStatus(there, "running:unknown");
    expect(await statusOf(stores, app)).toBe("running:unknown");
    await resources.setStatus(there, "running:healthy");
    expect(await statusOf(stores, app)).toBe("running:healthy");
    const types = (await stores.events.list({})).filter(({ type }) => type === "resource.status_changed");
    expect(types.map(({ payload }) => payload.status)).toEqual([
      "degraded:unhealthy",
      "running:unknown",
      "running:healthy",
    ]);
  });

  it("combines what two servers report at the same moment", async () => {
    const { stores, app, here, there } = await onTwoServers(database());
    const { resources } = database().system;
    for (const status of ["running:healthy", "exited:unhealthy", "running:unknown", "restarting:unknown"]) {
      await Promise.all([here, there].map((part) => resources.setStatus(part, status)));
      expect(await statusOf(stores, app)).toBe(status);
    }
  });

  it("counts restarts and problems on each server, and shows the worst", async () => {
    const { stores, app, here, there } = await onTwoServers(database());
    const { resources } = database().system;
    await resources.setRestarts(there, { restart_count: 4, last_restart_at: new Date() });
    await resources.setRestarts(here, { restart_count: 1, last_restart_at: new Date() });
    expect(await resources.setScaleProblem(there, "No memory.")).toBe(true);
    expect(await resources.setScaleProblem(here, null)).toBe(false);
    expect(await stores.applications.find(app.uuid)).toMatchObject({ restart_count: 4, scale_problem: "No memory." });
    const { subject } = (await resources.routing({ ...here, pull_request_id: 0 })) ?? {};
    expect(subject?.record).toMatchObject({ restart_count: 1, scale_problem: null });
    await resources.setScaleProblem(there, null);
    expect((await stores.applications.find(app.uuid))?.scale_problem).toBeNull();
    await resources.setStatus(there, "degraded:unhealthy", { problem: "n1 is down." });
    await resources.setStatus(here, "running:healthy");
    expect((await stores.applications.find(app.uuid))?.status_problem).toBe("n1 is down.");
    expect((await stores.applicationDestinations.list(app.id)).map(({ status_problem }) => status_problem)).toEqual([
      null,
      "n1 is down.",
    ]);
    const before = await stores.applicationDestinations.list(app.id);
    await resources.setStatus(there, "exited:unhealthy", { replaces: "running:healthy" });
    expect(await stores.applicationDestinations.list(app.id)).toEqual(before);
    await resources.setStatus(there, "running:healthy", { replaces: "degraded:unhealthy" });
    expect(await stores.applications.find(app.uuid)).toMatchObject({ status: "running:healthy", status_problem: null });
  });

  it("is stopped on one server after too many restarts there, until it is started or deployed there", async () => {
    const { stores, app, away, here, there } = await onTwoServers(database());
    const { resources } = database().system;
    await stores.resources.setDesiredState(app.id, "running");
    expect(await resources.giveUp(there)).toBe(true);
    const wanted = async (part: ServerPart) =>
      (await resources.routing({ ...part, pull_request_id: 0 }))?.subject.record.desired_state;
    expect([await wanted(here), await wanted(there)]).toEqual(["running", "stopped"]);
    await stores.resources.setDesiredState(app.id, "running");
    expect(await wanted(there)).toBe("running");
    await resources.giveUp(there);
    await released(database(), stores, away);
    expect(await wanted(there)).toBe("running");
    const alone = await testApplication(stores, await testPlace(stores));
    expect(await resources.giveUp(partOf(alone))).toBe(false);
  });

  it("is read as each of its servers runs it", async () => {
    const { stores, app, away } = await onTwoServers(database());
    const { resources } = database().system;
    const at = async (one: ApplicationRecord) => (await resources.routing(liveKeyOf(one)))?.subject.record;
    const [server] = (await stores.applicationDestinations.list(app.id)).slice(1);
    expect(await at(app)).toMatchObject({ server_id: app.server_id, destination_id: app.destination_id });
    expect(await at(away)).toMatchObject({
      server_id: away.server_id,
      destination_id: away.destination_id,
      placement: { server_name: server?.server_name, destination_uuid: server?.destination_uuid },
    });
    const [inspected] = await resources.inspect([app.id]);
    expect(inspected?.destinations.map(({ server_id }) => server_id)).toEqual([app.server_id, away.server_id]);
  });

  it("changes for each of its servers, also for one that was detached", async () => {
    const { stores, app, away } = await onTwoServers(database());
    const { resources } = database().system;
    const servers = [app.server_id, away.server_id];
    const changedBy = async (change: () => Promise<unknown>) => {
      const { position } = await resources.changes(new Map(servers.map((id) => [id, undefined])));
      await change();
      const { changes } = await resources.changes(new Map(servers.map((id) => [id, position])));
      return new Set(changes.filter(({ resource_id }) => resource_id === app.id).map(({ server_id }) => server_id));
    };
    expect(await changedBy(() => stores.resources.setDesiredState(app.id, "running"))).toEqual(new Set(servers));
    expect(await changedBy(() => stores.applicationDestinations.detach(app.id, away.destination_id))).toEqual(
      new Set(servers),
    );
    const whole = await resources.changes(new Map([[away.server_id, undefined]]));
    // Those with a key are changes, which are read again while any older transaction runs.
    const present = whole.changes.filter(({ key }) => key === "").map(({ resource_id }) => resource_id);
    expect(present).not.toContain(app.id);
  });

  it("is what a server has, whose removal detaches it", async () => {
    const { stores, app, away } = await onTwoServers(database());
    expect(await stores.resources.listStaying(away.server_id, 3)).toHaveLength(1);
    expect(await stores.destinations.users(away.destination_id, 2)).toMatchObject([{ name: app.name }]);
    expect(await stores.destinations.deleteIfUnused(away.destination_id)).toBe(false);
    await stores.applicationDestinations.detachServer(away.server_id);
    expect(await stores.resources.listStaying(away.server_id, 3)).toEqual([]);
    expect(await stores.applicationDestinations.list(app.id)).toEqual([]);
    await stores.applicationDestinations.detachServer(app.server_id);
    expect((await stores.applications.find(app.uuid))?.server_id).toBe(app.server_id);
  });

  it("keeps the release of a server that it is deployed to, whatever is live on the primary one", async () => {
    const { stores, app, away } = await onTwoServers(database());
    const { releases } = database().system;
    await released(database(), stores, app);
    const there = await released(database(), stores, away);
    await releases.supersede(there);
    expect((await releases.find(there))?.role).toBe("live");
    await stores.applicationDestinations.detach(app.id, away.destination_id);
    await releases.supersede(there);
    expect((await releases.find(there))?.role).toBe("retiring");
  });

  it("starts the deployment to another server after that to the first, of the same commit", async () => {
    const { app, away, queue, claim } = await queued(database());
    const [first, following] = await queue();
    expect(await claim(away)).toBeUndefined();
    const claimed = await claim(app);
    expect(claimed?.deployment.uuid).toBe(first?.uuid);
    if (claimed === undefined) return;
    await database().system.deployments.saveCommit(claimed.lease, "abc123", "Say hello");
    expect(await claim(away)).toBeUndefined();
    await database().system.deployments.finish(claimed.lease, "finished", null);
    expect((await claim(away))?.deployment).toMatchObject({
      uuid: following?.uuid,
      commit: "abc123",
      commit_message: "Say hello",
    });
  });

  it.each([
    ["failed", "deploy.unhealthy", "cancelled-by-user"],
    ["failed", "engine.unreachable", "queued"],
    ["finished", undefined, "queued"],
    ["cancelled-by-user", undefined, "cancelled-by-user"],
  ] as const)("after a first deployment that %s with %s, the other is %s", async (status, code, expected) => {
    const { stores, app, queue, claim } = await queued(database());
    const [, following] = await queue();
    const { lease } = (await claim(app)) ?? {};
    if (lease === undefined || following === undefined) throw new Error("It was queued above");
    if (code) {
      const failed = { status: "failed", error: "No.", error_code: code } as const;
      await database().system.deployments.saveStep(lease, "start", failed);
    }
    await database().system.deployments.finish(lease, status, status === "failed" ? "No." : null);
    expect((await stores.deployments.find(following.uuid))?.status).toBe(expected);
  });

  it("cancels what follows with a deployment that waits, and not the other way round", async () => {
    const { stores, queue } = await queued(database());
    const [first, following] = await queue();
    const [other, otherFollowing] = await queue({ commit: "other" });
    const statusesOf = async (...all: (DeploymentRecord | undefined)[]) =>
      await Promise.all(all.map(async (one) => (await stores.deployments.find(one?.uuid ?? ""))?.status));
    await stores.deployments.requestCancel(following?.uuid ?? "");
    expect(await statusesOf(first, following)).toEqual(["queued", "cancelled-by-user"]);
    await stores.deployments.requestCancel(other?.uuid ?? "");
    expect(await statusesOf(other, otherFollowing)).toEqual(["cancelled-by-user", "cancelled-by-user"]);
  });

  it("follows the waiting deployment that a repeated request is a duplicate of", async () => {
    const { stores, app, away, queue } = await queued(database());
    const [only] = await stores.deployments.enqueue([newDeployment(app, { commit: "same" })]);
    const [first, following] = await queue({ commit: "same" });
    expect(first?.uuid).toBe(only?.outcome === "queued" ? only.deployment.uuid : "");
    expect(following).toMatchObject({ follows: first?.uuid, server_id: away.server_id });
  });
});

const IMAGE = { type: "image", image: "app" } as const;

/** Deploys it to its server, as the only one of its kind that waits there. @returns the id of the deployment */
async function released({ system }: TestDatabase, stores: Stores, application: ApplicationRecord): Promise<number> {
  await stores.deployments.enqueue([newDeployment(application)]);
  const claim = await system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [application.server_id]);
  if (claim === undefined) throw new Error("It was queued above");
  const { lease, deployment } = claim;
  await system.releases.saveCandidate(lease, { artifact: IMAGE, built_by: deployment.uuid, upstream: null });
  await system.releases.promote(lease);
  await system.deployments.finish(lease, "finished", null);
  return deployment.id;
}

async function queued(database: TestDatabase) {
  const { stores, app, away } = await onTwoServers(database);
  const queue = async (fields: Parameters<typeof newDeployment>[1] = {}) => {
    const first = newDeployment(app, fields);
    const all = await stores.deployments.enqueue([first, { ...newDeployment(away, fields), follows: first.uuid }]);
    return all.map((one) => (one.outcome === "full" ? undefined : one.deployment));
  };
  const claim = ({ server_id }: ApplicationRecord) =>
    database.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [server_id]);
  return { stores, app, away, queue, claim };
}
