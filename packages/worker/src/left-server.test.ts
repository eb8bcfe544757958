import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord } from "@berth/core/ports";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { BuildServer, World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

/** Records that the application is on another server now, as a migration does. */
async function move(application: ApplicationRecord, { id: server_id }: { readonly id: number }) {
  const { kysely } = world.database.database;
  await kysely.updateTable("resource").set({ server_id }).where("id", "=", application.id).execute();
  return { ...application, server_id };
}

/** An application that runs on the world's server, and was moved to another one. */
async function moved() {
  const away = await world.buildServer();
  // Asked at each visit, which `settled` counts.
  for (const { engine } of [world, away]) engine.isWatched = false;
  world.worker();
  const here = await world.application();
  const first = await world.deploy(here);
  expect((await world.ended(first)).status).toBe("finished");
  return { away, here, first, app: await move(here, away.server) };
}

const running = ({ engine }: Pick<BuildServer, "engine">) =>
  engine.releases().flatMap(({ deploymentUuid, state }) => (state === "running" ? [deploymentUuid] : []));
const recorded = async ({ id }: ApplicationRecord) =>
  (await world.system.releases.listByResources([id])).map(({ server_id, role }) => ({ server_id, role }));

/** Requests the job of a removal together with `mark`. Returns a wait until the removal waits for another server. */
async function removal(
  type: "resource.delete" | "preview.delete",
  { id, uuid }: { readonly id: number; readonly uuid: string },
  mark: (tx: World["stores"]) => Promise<unknown>,
) {
  const subject = { type: type === "preview.delete" ? "preview" : "application", id, uuid, name: "shop" } as const;
  const job = testUuid();
  await world.stores.transaction(async (tx) => {
    await mark(tx);
    await tx.jobs.request([{ uuid: job, type, subject }]);
  });
  const problem = async () => (await world.stores.jobs.find(job))?.error;
  return async () => {
    await until(problem, { what: "the removal says what it waits for" });
    expect(await problem()).toMatch(`Waits until server ${world.server.name} has removed its releases`);
  };
}

/** Waits until the worker has compared both servers with their records again, after what was done before. */
async function settled({ points }: BuildServer) {
  for (const each of [world.points, points]) {
    const before = each.count("list");
    await until(() => each.count("list") > before + 1, { what: "the servers were visited" });
  }
}

describe("a server that a resource has left", () => {
  test("keeps its release until the deployment to the other server has ended, then removes it", async () => {
    const { away, here, first, app } = await moved();
    await settled(away);
    expect(running(away)).toEqual([]);
    expect(running(world)).toEqual([first.uuid]);
    expect(await world.proxy.request(app.uuid)).toBe(first.uuid);
    expect(await recorded(app)).toEqual([{ server_id: here.server_id, role: "live" }]);

    const second = await world.deploy(app);
    expect((await world.ended(second)).status).toBe("finished");
    await until(() => running(world).length === 0, { what: "the old release is gone" });
    expect(running(away)).toEqual([second.uuid]);
    await until(async () => (await recorded(app)).length === 1, { what: "its record is gone" });
    expect(await world.system.releases.live(liveKeyOf(app))).toMatchObject({ deployment_uuid: second.uuid });
    await until(() => !world.proxy.sites.has(app.uuid), { what: "the old server routes it no more" });
    expect(await away.proxy.request(app.uuid)).toBe(second.uuid);
    await until(async () => (await world.status(app)) === "running:healthy", { what: "its status is the new one's" });
    expect(world.warnings).toEqual([]);
  });

  test("keeps no build once its release is replaced", async () => {
    world.engine.keepsBuilds = true;
    const away = await world.buildServer();
    away.engine.keepsBuilds = true;
    world.worker();
    const here = await world.application();
    const kept = await world.deploy(here);
    await world.ended(kept);
    await world.ended(await world.deploy(here));
    await until(async () => (await world.system.releases.find(kept.id))?.role === "kept", { what: "it is kept" });
    const app = await move(here, away.server);
    const next = await world.deploy(app);
    expect((await world.ended(next)).status).toBe("finished");
    await until(async () => (await recorded(app)).length === 1, { what: "the old server has no release" });
    expect(world.engine.artifacts()).toEqual([]);
    expect(away.engine.artifacts()).toEqual([next.uuid]);
  });

  test("does not start a release again that ended there", async () => {
    const { away, first } = await moved();
    await world.engine.crash(first.uuid, 1);
    await settled(away);
    expect(world.engine.starts.get(first.uuid)).toBe(1);
    expect(running(away)).toEqual([]);
  });

  test("runs its release again when the resource comes back", async () => {
    const { away, here, first, app } = await moved();
    await world.engine.crash(first.uuid, 1);
    await settled(away);
    await move(app, { id: here.server_id });
    await until(() => running(world).includes(first.uuid), { what: "it runs" });
    expect(await recorded(app)).toEqual([{ server_id: here.server_id, role: "live" }]);
  });

  test("keeps its release when the deployment to the other server fails", async () => {
    const { away, here, first, app } = await moved();
    away.engine.behave = () => ({ exitCode: 1 });
    const second = await world.deploy(app);
    expect((await world.ended(second)).status).toBe("failed");
    await settled(away);
    expect(await recorded(app)).toEqual([{ server_id: here.server_id, role: "live" }]);
    expect(running(world)).toEqual([first.uuid]);
    expect(await world.proxy.request(app.uuid)).toBe(first.uuid);
  });

  test("removes what it has when the resource is removed, before its record goes", async () => {
    const { away, first, app } = await moved();
    const remove = world.points.hold("remove");
    const waits = await removal("resource.delete", app, (tx) =>
      tx.resources.markRemoving(app.id, { delete_volumes: true }),
    );
    await remove.reached;
    await waits();
    expect(away.engine.removedResources).not.toEqual([]);
    expect(await world.system.resources.find(app.id)).toBeDefined();
    expect(running(world)).toEqual([first.uuid]);
    remove.open();
    await until(async () => (await world.system.resources.find(app.id)) === undefined, { what: "it is gone" });
    expect(running(world)).toEqual([]);
    for (const { engine, proxy } of [world, away]) {
      expect(engine.removedResources[0]).toMatchObject({ uuid: app.uuid, deleteVolumes: true });
      expect(proxy.sites.has(app.uuid)).toBe(false);
    }
  });

  test("removes the release of a preview that is closed", async () => {
    const away = await world.buildServer();
    world.worker();
    const here = await world.application();
    const preview = await world.stores.previews.open(here.id, testUuid(), { pull_request_id: 7 });
    const deployment = await world.deploy(here, { pull_request_id: 7 });
    expect((await world.ended(deployment)).status).toBe("finished");
    const app = await move(here, away.server);
    const remove = world.points.hold("remove");
    const waits = await removal("preview.delete", preview, (tx) => tx.previews.markRemoving(app.id, 7));
    await remove.reached;
    await waits();
    expect(await world.stores.previews.find(app.id, 7)).toBeDefined();
    remove.open();
    await until(async () => (await world.stores.previews.find(app.id, 7)) === undefined, { what: "it is gone" });
    expect(running(world)).toEqual([]);
    expect(await recorded(app)).toEqual([]);
  });
});
