import type { JobRecord } from "@berth/core/ports";
import type { CleanupOperation, SeenObject, ServerCleaner } from "@berth/core/server";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { planServerCleanup, requestDueCleanups } from "./cleanup.ts";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
// The next scheduled cleanup is years away.
openEachWorld(
  (opened) => {
    world = opened;
  },
  { docker_cleanup_frequency: "0 0 29 2 *" },
);

const image = (resourceUuid: string, deploymentUuid: string): SeenObject => ({
  type: "image",
  id: `sha256:${deploymentUuid}`,
  name: `berth/${resourceUuid}:${deploymentUuid}`,
  instance: "me",
  resourceUuid,
  deploymentUuid,
  isInUse: false,
  sizeBytes: 1,
});

function cleaner(objects: readonly SeenObject[]): ServerCleaner & { readonly removed: CleanupOperation[] } {
  const removed: CleanupOperation[] = [];
  return {
    instance: "me",
    removed,
    observe: async () => objects.filter(({ id }) => removed.every((operation) => operation.id !== id)),
    async remove(operation) {
      removed.push(operation);
      return "removed";
    },
  };
}

const jobs = async (): Promise<readonly JobRecord[]> =>
  (await world.stores.jobs.list({ type: "server.cleanup", subject: world.server.uuid })).items;
const ended = () =>
  until(async () => (await jobs()).find(({ finished_at }) => finished_at !== null), { what: "the cleanup ends" });
const request = () =>
  world.stores.jobs.request([
    { uuid: testUuid(), type: "server.cleanup", subject: { ...world.server, type: "server" } },
  ]);

describe("a cleanup of a server", () => {
  test("removes what no deployment needs, and neither what runs, is kept nor is being made", async () => {
    world.engine.keepsBuilds = true;
    const first = world.worker();
    const application = await world.application();
    const kept = await world.deploy(application);
    await world.ended(kept);
    const live = await world.deploy(application);
    await world.ended(live);
    await until(async () => (await world.system.releases.find(kept.id))?.role === "kept", { what: "it is kept" });
    await first.stop({ graceSeconds: 1 });
    const queued = await world.deploy(application);
    const gone = await world.application();
    await world.system.resources.delete(gone.id);
    const uuids = [kept.uuid, live.uuid, queued.uuid, "old"];
    const own = cleaner([
      ...uuids.map((uuid) => image(application.uuid, uuid)),
      image(gone.uuid, "x"),
      image("elsewhere", "x"),
    ]);
    world.cleaner = own;
    await request();
    world.worker().pause();
    expect(await ended()).toMatchObject({ status: "finished", error: null });
    expect(own.removed.map(({ name }) => name)).toEqual([`berth/${application.uuid}:old`, `berth/${gone.uuid}:x`]);
  });

  test("of a build server leaves what is being built on it for another server", async () => {
    world.engine.registry = new Map();
    const builder = await world.buildServer();
    const application = await world.application({ use_build_server: true });
    const held = builder.points.hold("build");
    world.worker();
    const deployment = await world.deploy(application);
    await held.reached;
    world.cleaner = cleaner([image(application.uuid, deployment.uuid), image(application.uuid, "old")]);
    const deps = { stores: world.system, cleanerFor: () => world.cleaner };
    expect((await planServerCleanup(deps, builder.server))?.map(({ name }) => name)).toEqual([
      `berth/${application.uuid}:old`,
    ]);
    held.open();
    await world.ended(deployment);
  });

  test("leaves what belongs to a release on the server that its resource has left", async () => {
    const worker = world.worker();
    const application = await world.application();
    const live = await world.deploy(application);
    await world.ended(live);
    await worker.stop({ graceSeconds: 1 });
    const { server } = await world.buildServer();
    const { kysely } = world.database.database;
    await kysely.updateTable("resource").set({ server_id: server.id }).where("id", "=", application.id).execute();
    const container = { ...image(application.uuid, live.uuid), type: "container", id: "c1" } as const;
    world.cleaner = cleaner([image(application.uuid, live.uuid), container, image(application.uuid, "old")]);
    const deps = { stores: world.system, cleanerFor: () => world.cleaner };
    expect((await planServerCleanup(deps, world.server))?.map(({ name }) => name)).toEqual([
      `berth/${application.uuid}:old`,
    ]);
  });

  test("that fails says why", async () => {
    world.cleaner = undefined;
    await request();
    world.worker();
    expect(await ended()).toMatchObject({ status: "failed", error: "It has nothing to clean up." });
  });

  test("which was missed is done once when it is due, and not again before its next time", async () => {
    world.cleaner = cleaner([]);
    const now = new Date();
    const settings = { ...world.server.settings, docker_cleanup_frequency: "hourly" };
    const server = { ...world.server, settings, created_at: new Date(now.getTime() - 3 * 86_400_000) };
    const look = (changed = {}) => {
      const subject = { ...server, settings: { ...settings, ...changed } };
      const diskOf = async () => ({ totalBytes: 100, freeBytes: 50 });
      const cleanerFor = () => world.cleaner;
      return requestDueCleanups({ stores: world.system, cleanerFor, diskOf, clock: { now: () => now } }, [subject]);
    };
    await look({ docker_cleanup_frequency: "0 0 29 2 *" });
    await look({ force_docker_cleanup: false, docker_cleanup_threshold: 51 });
    expect(await jobs()).toHaveLength(0);
    await look({ force_docker_cleanup: false, docker_cleanup_threshold: 50 });
    expect(await jobs()).toHaveLength(1);
    world.worker();
    expect(await ended()).toMatchObject({ status: "finished" });
    await look();
    expect(await jobs()).toHaveLength(1);
  });
});
