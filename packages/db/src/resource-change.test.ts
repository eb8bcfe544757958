import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, ResourceChanges } from "@berth/core/ports";
import { newDeployment, testApplication, testDatabase, testPlace, testTeam, testUuid, until } from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

describe.each(["embedded", "pglite"] as const)("changes of resources on %s", (backend) => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let place: Awaited<ReturnType<typeof testPlace>>;
  let stores: Awaited<ReturnType<typeof testTeam>>;
  let app: ApplicationRecord;
  beforeAll(async () => {
    database = await testDatabase({ backend });
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    stores = await testTeam(database);
    place = await testPlace(stores);
    app = await testApplication(stores, place);
  });

  const read = (position?: string): Promise<ResourceChanges> =>
    database.system.resources.changes(new Map([[place.server.id, position]]));
  /** Changes have no order. */
  const idsOf = ({ changes }: ResourceChanges) =>
    [...new Set(changes.map(({ resource_id }) => resource_id))].toSorted((one, other) => one - other);
  /** Those that a reader has not read before: another transaction of the machine may make it read more. */
  const newIdsOf = ({ changes: before }: ResourceChanges, after: ResourceChanges) => {
    const keys = new Set(before.map(({ key }) => key));
    return idsOf({ ...after, changes: after.changes.filter(({ key }) => !keys.has(key)) });
  };
  /** The resources for which `work` records a change. */
  const changedBy = async (work: () => Promise<unknown>) => {
    const before = await read();
    await work();
    return newIdsOf(before, await read(before.position));
  };

  test("are all resources of a server for a reader without a position", async () => {
    const other = await testApplication(stores, place);
    await testApplication(stores, await testPlace(stores));
    expect(idsOf(await read())).toEqual([app.id, other.id]);
    const before = await read();
    expect(newIdsOf(before, await read(before.position))).toEqual([]);
  });

  test("come with the deployments of the server that wait or run", async () => {
    const elsewhere = await testApplication(stores, await testPlace(stores));
    await stores.deployments.enqueue([newDeployment(elsewhere)]);
    expect((await read()).active).toEqual([]);
    await stores.deployments.enqueue([newDeployment(app)]);
    expect((await read()).active).toMatchObject([{ resource_id: app.id, server_id: app.server_id, status: "queued" }]);
  });

  const host = () => `${testUuid()}.example.com`;
  const CHANGES: Readonly<Record<string, () => Promise<unknown>>> = {
    "the wish that it runs": () => stores.resources.setDesiredState(app.id, "running"),
    "its status": () => database.system.resources.setStatus(liveKeyOf(app), "running:healthy"),
    "its restarts": () =>
      database.system.resources.setRestarts(liveKeyOf(app), { restart_count: 3, last_restart_at: null }),
    "its settings": () => stores.applications.update(app.id, { settings: { is_gzip_enabled: false } }),
    "its secrets": () => stores.applications.update(app.id, { secrets: { http_basic_auth_password: "other" } }),
    "its URLs": () =>
      stores.domains.claim(app.id, [{ host: host(), path: "/", url: "http://x" }], { takeFromOwnTeam: false }),
    "a preview": () => stores.previews.open(app.id, testUuid(), { pull_request_id: 7 }),
    "its removal": () => stores.resources.markRemoving(app.id, {}),
    "its end": () => database.system.resources.delete(app.id),
  };
  test.each(Object.keys(CHANGES))("contain %s", async (name) => {
    const before = await testApplication(stores, place);
    expect(await changedBy(async () => CHANGES[name]?.())).toEqual([app.id]);
    expect(before.id).not.toBe(app.id);
  });

  test("are inspected without a secret, and one that never ran rests", async () => {
    const url = { host: host(), path: "/", url: "http://x" };
    await stores.domains.claim(app.id, [url], { takeFromOwnTeam: false });
    const [resting] = await database.system.resources.inspect([app.id]);
    expect(resting).toMatchObject({ is_resting: true, domains: [url], site_settings: { redirect: "both" } });
    await stores.resources.setDesiredState(app.id, "running");
    expect(await database.system.resources.inspect([app.id])).toMatchObject([{ is_resting: false }]);
  });

  test("that are old are forgotten", async () => {
    const { position } = await read();
    await stores.resources.setDesiredState(app.id, "running");
    expect(idsOf(await read(position))).toContain(app.id);
    await sql`update resource_change set at = now() - interval '2 hours'`.execute(database.database.kysely);
    expect(await database.system.resources.pruneChanges(3600)).toBeGreaterThan(0);
    expect(idsOf(await read(position))).toEqual([]);
  });
});

test("a change is read although its transaction ends after one that began later was read", async () => {
  const database = await testDatabase();
  try {
    const stores = await testTeam(database);
    const place = await testPlace(stores);
    const [slow, quick] = [await testApplication(stores, place), await testApplication(stores, place)];
    const read = (position?: string) => database.system.resources.changes(new Map([[place.server.id, position]]));
    const before = await read();
    const end = Promise.withResolvers<void>();
    let isChanged = false;
    const slowChange = stores.transaction(async (tx) => {
      await tx.resources.setDesiredState(slow.id, "running");
      isChanged = true;
      await end.promise;
    });
    await until(() => isChanged, { what: "the slow transaction has changed its resource" });
    await stores.resources.setDesiredState(quick.id, "running");
    const first = await read(before.position);
    expect(first.changes.some(({ resource_id }) => resource_id === quick.id)).toBe(true);
    end.resolve();
    await slowChange;
    const second = await read(first.position);
    const known = new Set([...before.changes, ...first.changes].map(({ key }) => key));
    // The reader recognises by the key that it has read the other change.
    const fresh = second.changes.filter(({ key }) => !known.has(key));
    expect(fresh.map(({ resource_id }) => resource_id)).toEqual([slow.id]);
  } finally {
    await database.close();
  }
});
