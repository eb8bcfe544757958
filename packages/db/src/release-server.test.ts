import { type Artifact, liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, Lease, NewDeployment, Stores } from "@berth/core/ports";
import { newDeployment, type TestDatabase, testApplication, testPlace, testTeam } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const image: Artifact = { type: "image", image: "app" };

/** An application on `here` that has a live release on another server too. */
async function onTwoServers(database: TestDatabase) {
  const stores = await testTeam(database);
  const app = await testApplication(stores, await testPlace(stores));
  const { server, destination } = await testPlace(stores);
  const away = { ...app, server_id: server.id, destination_id: destination.id };
  const first = { here: await released(database, stores, app), away: await released(database, stores, away) };
  return { stores, app, away, first };
}

async function claimed(database: TestDatabase, stores: Stores, app: ApplicationRecord, fields: Partial<NewDeployment>) {
  await stores.deployments.enqueue([newDeployment(app, fields)]);
  const claim = await database.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
  if (claim === undefined) throw new Error("It was queued above");
  return claim;
}

/** Promotes a new release to live on the application's server, and leaves its deployment running. */
async function promoted(
  database: TestDatabase,
  stores: Stores,
  app: ApplicationRecord,
  builtBy?: string,
): Promise<{
  readonly id: number;
  readonly uuid: string;
  readonly lease: Lease;
  readonly previous: number | undefined;
}> {
  const { lease, deployment } = await claimed(database, stores, app, {});
  const { releases } = database.system;
  const built_by = builtBy ?? deployment.uuid;
  await releases.saveCandidate(lease, { artifact: image, built_by, upstream: { host: "::1", port: deployment.id } });
  const previous = (await releases.promote(lease))?.previous?.deployment_id;
  return { id: deployment.id, uuid: deployment.uuid, lease, previous };
}

async function released(...args: Parameters<typeof promoted>) {
  const made = await promoted(...args);
  await args[0].system.deployments.finish(made.lease, "finished", null);
  return made;
}

/** Records that the application is on another server now. */
const move = ({ id }: ApplicationRecord, { server_id }: ApplicationRecord, { database }: TestDatabase) =>
  database.kysely.updateTable("resource").set({ server_id }).where("id", "=", id).execute();

const idsOf = (list: readonly { readonly deployment_id: number }[]) => list.map(({ deployment_id }) => deployment_id);

onEachBackend((database) => {
  it("has a live release on each of two servers", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { releases } = database().system;
    expect(first.away.previous).toBeUndefined();
    for (const [one, { id }] of [[app, first.here] as const, [away, first.away] as const]) {
      expect(await releases.live(liveKeyOf(one))).toMatchObject({ deployment_id: id, server_id: one.server_id });
      expect(await stores.releases.live(liveKeyOf(one))).toMatchObject({ deployment_id: id });
    }
  });

  it("replaces the release of the same server and no other, and takes only that back", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { releases } = database().system;
    const next = await promoted(database(), stores, away);
    expect(next.previous).toBe(first.away.id);
    expect((await releases.promote(next.lease))?.previous?.deployment_id).toBe(first.away.id);
    expect(await releases.find(first.here.id)).toMatchObject({ role: "live", replaced_by_deployment_id: null });
    expect(await releases.demote(next.lease)).toBe(true);
    expect(await releases.live(liveKeyOf(away))).toMatchObject({ deployment_id: first.away.id });
    expect(await releases.live(liveKeyOf(app))).toMatchObject({ deployment_id: first.here.id });
  });

  it("routes each server to its own release", async () => {
    const { app, away, first } = await onTwoServers(database());
    const { resources } = database().system;
    for (const [one, { uuid, id }] of [[app, first.here] as const, [away, first.away] as const]) {
      const { live } = (await resources.routing(liveKeyOf(one))) ?? {};
      expect(live).toEqual({ deployment_uuid: uuid, upstream: { host: "::1", port: id } });
    }
    expect((await resources.routing(liveKeyOf({ ...app, server_id: -1 })))?.live).toBeNull();
  });

  it("measures only the release on the server that is recorded with the resource", async () => {
    const { app, away, first } = await onTwoServers(database());
    const { releases } = database().system;
    const measured = async () => idsOf(await releases.listMeasured([app.server_id, away.server_id]));
    expect(await measured()).toEqual([first.here.id]);
    await move(app, away, database());
    expect(await measured()).toEqual([first.away.id]);
    expect(await releases.listMeasured([app.server_id])).toEqual([]);
  });

  it("shows the candidate of one server", async () => {
    const { stores, app, away } = await onTwoServers(database());
    const { lease, deployment } = await claimed(database(), stores, away, {});
    const candidate = { artifact: image, built_by: deployment.uuid, upstream: null };
    await database().system.releases.saveCandidate(lease, candidate);
    expect(await stores.releases.candidate(liveKeyOf(away))).toMatchObject({ deployment_id: deployment.id });
    expect(await stores.releases.candidate(liveKeyOf(app))).toBeUndefined();
  });

  it("keeps builds on each server by itself", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { releases } = database().system;
    const next = await released(database(), stores, away);
    await releases.keep(first.away.id);
    expect((await stores.releases.builds(liveKeyOf(app))).map(({ built_by }) => built_by)).toEqual([first.here.uuid]);
    expect((await stores.releases.builds(liveKeyOf(away))).map(({ built_by }) => built_by)).toEqual([
      next.uuid,
      first.away.uuid,
    ]);
    expect(await releases.findBuild(liveKeyOf(away), first.away.uuid)).toMatchObject({ deployment_id: first.away.id });
    expect(await releases.findBuild(liveKeyOf(app), first.away.uuid)).toBeUndefined();
    expect(idsOf(await releases.listSurplus(liveKeyOf(away), 0))).toEqual([first.away.id]);
    expect(await releases.listSurplus(liveKeyOf(app), 0)).toEqual([]);
  });

  it("keeps a build only for a rollback on its own server", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { releases } = database().system;
    await released(database(), stores, away);
    await releases.keep(first.away.id);
    const rollback = { rollback: true, rollback_to: first.away.uuid };
    await stores.deployments.enqueue([newDeployment(app, rollback)]);
    expect(idsOf(await releases.listSurplus(liveKeyOf(away), 0))).toEqual([first.away.id]);
    await stores.deployments.enqueue([newDeployment(away, rollback)]);
    expect(await releases.listSurplus(liveKeyOf(away), 0)).toEqual([]);
  });

  it("retires what a resource left behind, once its deployment to the other server has ended", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { deployments, releases } = database().system;
    const next = await promoted(database(), stores, away);
    await releases.supersede(first.here.id);
    expect(await releases.find(first.here.id)).toMatchObject({ role: "live" });
    await move(app, away, database());
    await releases.supersede(first.here.id);
    expect(await releases.find(first.here.id)).toMatchObject({ role: "live" });
    await deployments.finish(next.lease, "finished", null);
    await releases.supersede(next.id);
    expect(await releases.find(next.id)).toMatchObject({ role: "live" });
    await releases.supersede(first.here.id);
    expect(await releases.find(first.here.id)).toMatchObject({ role: "retiring", replaced_by_deployment_id: next.id });
  });

  it("retires no release of a resource that is not live on its own server", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { server, destination } = await testPlace(stores);
    const away = { ...app, server_id: server.id, destination_id: destination.id };
    const { releases } = database().system;
    const { id } = await released(database(), stores, app);
    await move(app, away, database());
    await releases.supersede(id);
    expect(await releases.find(id)).toMatchObject({ role: "live" });
    const preview = await claimed(database(), stores, away, { pull_request_id: 7 });
    const { lease, deployment } = preview;
    await releases.saveCandidate(lease, { artifact: image, built_by: deployment.uuid, upstream: null });
    await releases.promote(lease);
    await database().system.deployments.finish(lease, "finished", null);
    await releases.supersede(id);
    expect(await releases.find(id)).toMatchObject({ role: "live" });
  });

  it("reports each change of a resource to every server that has a release of it", async () => {
    const { stores, app, away, first } = await onTwoServers(database());
    const { resources, releases } = database().system;
    const read = (position?: string) => resources.changes(new Map([app, away].map((one) => [one.server_id, position])));
    /** Servers that read a change of the application that `work` makes. */
    const changedBy = async (work: () => Promise<unknown>) => {
      const before = await read((await read()).position);
      await work();
      const known = new Set(before.changes.map(({ key, server_id }) => `${server_id} ${key}`));
      const { changes } = await read(before.position);
      const fresh = changes.filter(({ key, server_id }) => !known.has(`${server_id} ${key}`));
      return [...new Set(fresh.map(({ server_id }) => server_id))].sort((a, b) => a - b);
    };
    const both = [app.server_id, away.server_id].sort((a, b) => a - b);
    // Changes that a transaction elsewhere keeps recent are answered once more.
    const whole = new Set((await read()).changes.map(({ server_id }) => server_id));
    expect([...whole].sort((a, b) => a - b)).toEqual(both);
    expect(await changedBy(() => stores.resources.setDesiredState(app.id, "running"))).toEqual(both);
    expect(await changedBy(() => stores.applications.update(app.id, { settings: { is_gzip_enabled: false } }))).toEqual(
      both,
    );
    expect(await changedBy(() => releases.setUpstream(first.here.id, null))).toEqual(both);
    expect(await changedBy(() => move(app, away, database()))).toEqual(both);
    expect(await changedBy(() => releases.delete(first.here.id))).toEqual(both);
    expect(await changedBy(() => stores.resources.setDesiredState(app.id, "stopped"))).toEqual([away.server_id]);
    expect(await changedBy(() => resources.delete(app.id))).toEqual([away.server_id]);
  });
});
