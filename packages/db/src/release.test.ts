import { type Artifact, liveKeyOf } from "@berth/core/deploy";
import type { ResourceRecord, Stores } from "@berth/core/ports";
import {
  newDeployment,
  type TestDatabase,
  testApplication,
  testDatabaseResource,
  testPlace,
  testTeam,
} from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const image = (name: string): Artifact => ({ type: "image", image: name });

async function started(database: TestDatabase, stores: Stores, app: ResourceRecord, pull_request_id = 0) {
  await stores.deployments.enqueue([newDeployment(app, { pull_request_id })]);
  const claim = await database.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
  if (claim === undefined) throw new Error("It was queued above");
  return claim;
}

/** Runs a deployment to its end; returns its id. */
async function released(database: TestDatabase, stores: Stores, app: ResourceRecord, pull_request_id = 0) {
  const { lease, deployment } = await started(database, stores, app, pull_request_id);
  const { deployments, releases } = database.system;
  await releases.saveCandidate(lease, { artifact: image("app"), built_by: deployment.uuid, upstream: null });
  const promoted = await releases.promote(lease);
  await deployments.finish(lease, "finished", null);
  return { id: deployment.id, previous: promoted?.previous };
}

onEachBackend((database) => {
  it("keeps what a deployment made, and replaces it when it is made again", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { lease, deployment } = await started(database(), stores, app);
    const { releases } = database().system;
    expect(await releases.find(deployment.id)).toBeUndefined();
    const first = { artifact: image("one"), built_by: deployment.uuid, upstream: null };
    expect(await releases.saveCandidate(lease, first)).toBe(true);
    const upstream = { host: "127.0.0.1", port: 4000 };
    expect(await releases.saveCandidate(lease, { ...first, artifact: image("two"), upstream })).toBe(true);
    expect(await releases.find(deployment.id)).toMatchObject({
      deployment_uuid: deployment.uuid,
      resource_uuid: app.uuid,
      server_id: app.server_id,
      role: "candidate",
      artifact: image("two"),
      built_by: deployment.uuid,
      upstream,
      replaced_by_deployment_id: null,
    });
    expect(await releases.live(liveKeyOf(app))).toBeUndefined();
  });

  it("keeps what a stack is made of sealed, wherever it is written", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { lease, deployment } = await started(database(), stores, app);
    const { deployments, releases } = database().system;
    const secret = "a secret of the text";
    const artifact: Artifact = { type: "stack", compose: secret, images: { web: { image: "a" } }, files: [] };
    await releases.saveCandidate(lease, { artifact, built_by: deployment.uuid, upstream: null });
    await deployments.saveStep(lease, "build", { status: "done", output: { artifact, builtBy: "x" } });
    const { rows } = await sql<{ text: string }>`
      select artifact::text as text from release union all select output::text from deployment_step
      where output is not null`.execute(database().database.kysely);
    expect(rows.length).toBeGreaterThanOrEqual(2);
    expect(rows.map(({ text }) => text).join()).not.toContain(secret);
    expect((await releases.find(deployment.id))?.artifact).toEqual(artifact);
    expect((await releases.listByServer(app.server_id)).map((one) => one.artifact)).toEqual([artifact]);
    expect((await releases.promote(lease))?.previous).toBeUndefined();
    expect((await stores.releases.live(liveKeyOf(app)))?.artifact).toEqual(artifact);
    expect(await stores.releases.builds(liveKeyOf(app))).toMatchObject([{ artifact, is_current: true }]);
    expect((await deployments.steps(deployment.id)).find(({ name }) => name === "build")?.output).toEqual({
      artifact,
      builtBy: "x",
    });
  });

  it("promotes a candidate and retires the one before it, and answers the same when repeated", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { releases } = database().system;
    const first = await released(database(), stores, app);
    expect(first.previous).toBeUndefined();
    const { lease, deployment } = await started(database(), stores, app);
    await releases.saveCandidate(lease, { artifact: image("b"), built_by: "x", upstream: null });
    const promoted = await releases.promote(lease);
    expect(promoted?.previous).toMatchObject({
      deployment_id: first.id,
      role: "retiring",
      replaced_by_deployment_id: deployment.id,
    });
    expect(await releases.promote(lease)).toEqual(promoted);
    expect(await releases.live(liveKeyOf(app))).toMatchObject({ deployment_id: deployment.id });
    expect(await stores.releases.live(liveKeyOf(app))).toEqual(await releases.live(liveKeyOf(app)));
    // A repeated step does not turn the live release into a candidate again.
    await releases.saveCandidate(lease, { artifact: image("c"), built_by: "x", upstream: null });
    expect(await releases.live(liveKeyOf(app))).toMatchObject({ role: "live", artifact: image("b") });
  });

  it("counts a replaced release as a kept build before it is stopped, where its build will be kept", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { server } = place;
    const app = await testApplication(stores, place);
    const unkept = await testApplication(stores, place, { settings: { docker_images_to_keep: 0 } });
    const builtBy = async (key: ResourceRecord) =>
      (await stores.releases.builds(liveKeyOf(key))).map(({ built_by, is_current }) => [built_by, is_current]);
    const deployed = async (key: ResourceRecord) => {
      const { id } = await released(database(), stores, key);
      return (await database().system.deployments.find(id))?.uuid;
    };
    const [first, second] = [await deployed(app), await deployed(app)];
    expect(await builtBy(app)).toEqual([
      [second, true],
      [first, false],
    ]);
    const [, only] = [await deployed(unkept), await deployed(unkept)];
    expect(await builtBy(unkept)).toEqual([[only, true]]);
    const settings = { ...server.settings, disable_application_image_retention: true };
    await stores.servers.update(server.uuid, { settings });
    expect(await builtBy(app)).toEqual([[second, true]]);
  });

  it("takes a promotion back, and makes the one before it live again", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { releases } = database().system;
    const first = await released(database(), stores, app);
    const { lease, deployment } = await started(database(), stores, app);
    await releases.saveCandidate(lease, { artifact: image("b"), built_by: "x", upstream: null });
    await releases.promote(lease);
    expect(await releases.demote(lease)).toBe(true);
    expect(await releases.demote(lease)).toBe(true);
    expect(await releases.find(deployment.id)).toMatchObject({ role: "candidate" });
    expect(await releases.live(liveKeyOf(app))).toMatchObject({
      deployment_id: first.id,
      replaced_by_deployment_id: null,
    });
    expect(await releases.demote({ ...lease, attempt: lease.attempt + 1 })).toBe(false);
    expect((await releases.promote(lease))?.previous).toMatchObject({ deployment_id: first.id });
  });

  it("tells when a database was started", async () => {
    const stores = await testTeam(database());
    const made = await testDatabaseResource(stores, await testPlace(stores));
    expect(made.started_at).toBeNull();
    await released(database(), stores, made);
    expect((await stores.databases.find(made.uuid))?.started_at).toBeInstanceOf(Date);
  });

  it("promotes nothing without a candidate", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { lease } = await started(database(), stores, app);
    expect(await database().system.releases.promote(lease)).toBeUndefined();
  });

  it("keeps a live release for each pull request", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const main = await released(database(), stores, app);
    const preview = await released(database(), stores, app, 7);
    expect(preview.previous).toBeUndefined();
    expect(await stores.releases.live(liveKeyOf(app))).toMatchObject({ deployment_id: main.id });
    expect(await stores.releases.live(liveKeyOf(app, 7))).toMatchObject({ deployment_id: preview.id });
  });

  it("lists a server's releases by role or all, changes where one is reached, and deletes it", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { releases } = database().system;
    const [one, two] = [await released(database(), stores, app), await released(database(), stores, app)];
    const ids = (list: readonly { readonly deployment_id: number }[]) => list.map(({ deployment_id }) => deployment_id);
    expect(ids(await releases.listByServer(app.server_id))).toEqual([one.id, two.id]);
    expect(ids(await releases.listByRole("live", [app.server_id]))).toEqual([two.id]);
    expect(ids(await releases.listByRole("retiring", [app.server_id]))).toEqual([one.id]);
    expect(ids(await releases.listByRole("live"))).toContain(two.id);
    await releases.setUpstream(two.id, { host: "::1", port: 1 });
    expect((await releases.find(two.id))?.upstream).toEqual({ host: "::1", port: 1 });
    await releases.setUpstream(two.id, null);
    expect((await releases.find(two.id))?.upstream).toBeNull();
    await releases.delete(one.id);
    await releases.delete(one.id);
    expect(ids(await releases.listByServer(app.server_id))).toEqual([two.id]);
  });

  it("goes with its resource", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const [one, two] = [await released(database(), stores, app), await released(database(), stores, app)];
    await database().system.resources.delete(app.id);
    for (const { id } of [one, two]) {
      expect(await database().system.releases.find(id)).toBeUndefined();
      expect(await database().system.deployments.find(id)).toBeUndefined();
    }
  });
});
