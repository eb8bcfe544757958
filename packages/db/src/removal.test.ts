import type { ApplicationRecord, Stores } from "@berth/core/ports";
import {
  newDeployment,
  type TestDatabase,
  testApplication,
  testDatabase,
  testPlace,
  testTeam,
  testUuid,
} from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

async function world() {
  const stores = await testTeam(database);
  const place = await testPlace(stores);
  return { stores, place, application: await testApplication(stores, place) };
}
type World = Awaited<ReturnType<typeof world>>;

/** Resolves when a statement waits for a lock of another transaction. */
const someoneWaits = () =>
  expect
    .poll(async () => {
      const { rows } = await sql<{ count: number }>`select count(*) as count from pg_locks
        where not granted and database = (select oid from pg_database where datname = current_database())
        or not granted and locktype = 'transactionid'`.execute(database.database.kysely);
      return rows[0]?.count;
    })
    .toBeGreaterThan(0);

const serverRemoval = async (tx: Stores, { place: { server } }: World) => {
  await tx.servers.findForUpdate(server.uuid);
  await tx.servers.markRemoving(server.id);
};
const resourceRemoval = (tx: Stores, { application }: World) =>
  tx.resources.markRemoving(application.id, { delete_volumes: true });

describe.each([
  {
    what: "an application on a server that is being deleted",
    remove: serverRemoval,
    create: ({ stores, place }: World) => testApplication(stores, place),
    code: "resource.not_found",
  },
  {
    what: "a destination of a server that is being deleted",
    remove: serverRemoval,
    create: ({ stores, place }: World) =>
      stores.destinations.insert({ uuid: testUuid(), server_id: place.server.id, name: "x", network: "x" }),
    code: "resource.not_found",
  },
  {
    what: "a deployment of an application that is being removed",
    remove: resourceRemoval,
    create: ({ stores, application }: World) => stores.deployments.enqueue([newDeployment(application)]),
    code: "resource.state",
  },
])("$what", ({ remove, create, code }) => {
  test("is refused when it is asked for before the other has been committed", async () => {
    const at = await world();
    let creating: Promise<unknown> = Promise.resolve();
    await at.stores.transaction(async (tx) => {
      await remove(tx, at);
      creating = create(at);
      creating.catch(() => undefined);
      await someoneWaits();
    });
    await expect(creating).rejects.toMatchObject({ code });
  });

  test("is seen by the other when it came first", async () => {
    const at = await world();
    let removing: Promise<unknown> = Promise.resolve();
    let seen: readonly ApplicationRecord[] = [];
    const destinations = await at.stores.transaction(async (tx) => {
      await create({ ...at, stores: tx });
      removing = at.stores.transaction(async (other) => {
        await remove(other, at);
        seen = (await other.applications.list({})).items;
        return [(await other.destinations.list({})).total, (await other.deployments.listActive()).total];
      });
      await someoneWaits();
      seen = [];
      return (await tx.destinations.list({})).total;
    });
    const [total] = [await removing];
    const { items } = await at.stores.applications.list({});
    expect(seen.map(({ uuid }) => uuid)).toEqual(items.map(({ uuid }) => uuid));
    expect(total).toEqual([destinations, (await at.stores.deployments.listActive()).total]);
  });
});

test("a server's deletion does not wait for what only uses it, nor for itself", async () => {
  const { stores, place, application } = await world();
  await stores.transaction(async (tx) => {
    await tx.servers.findForUpdate(place.server.uuid);
    expect(await tx.servers.markRemoving(place.server.id)).toBe(true);
    expect(await tx.servers.markRemoving(place.server.id)).toBe(false);
    expect(await tx.resources.markRemovingOn(place.server.id, { delete_volumes: false })).toMatchObject([
      { id: application.id, removing_at: expect.any(Date), delete_volumes: false },
    ]);
    expect(await tx.resources.markRemovingOn(place.server.id, { delete_volumes: true })).toEqual([]);
  });
  expect(await stores.resources.listStaying(place.server.id, 3)).toEqual([]);
});

test("any number of resources is marked, with a job for each, in one transaction", async () => {
  const { stores, place, application } = await world();
  await sql`insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
    select ${application.uuid} || n, 'application', ${application.team_id}, ${application.environment_id},
      ${application.server_id}, ${application.destination_id}, 'app ' || n from generate_series(2, 17000) as n`.execute(
    database.database.kysely,
  );
  const jobs = await stores.transaction(async (tx) => {
    const marked = await tx.resources.markRemovingOn(place.server.id, { delete_volumes: true });
    return await tx.jobs.request(
      marked.map((resource) => ({
        uuid: testUuid(),
        type: "resource.delete",
        subject: { ...resource, type: resource.kind },
      })),
    );
  });
  expect(new Set(jobs.map(({ subject_uuid }) => subject_uuid)).size).toBe(17_000);
  expect((await stores.jobs.list({ status: "queued" }, { take: 1 })).total).toBe(17_000);
  expect(await stores.resources.listStaying(place.server.id, 3)).toEqual([]);
});

test("a server goes with its destinations, and not before its last resource", async () => {
  const { stores, place, application } = await world();
  const { servers, resources } = database.system;
  expect(await servers.deleteIfEmpty(place.server.id)).toBe(false);
  await stores.servers.markRemoving(place.server.id);
  expect(await servers.deleteIfEmpty(place.server.id)).toBe(false);
  expect((await servers.find(place.server.id))?.removing_at).toBeInstanceOf(Date);
  await resources.delete(application.id);
  expect(await servers.deleteIfEmpty(place.server.id)).toBe(true);
  expect(await stores.servers.find(place.server.uuid)).toBeUndefined();
  expect(await stores.destinations.find(place.destination.uuid)).toBeUndefined();
});

test("a destination stays while a resource is on it", async () => {
  const { stores, place, application } = await world();
  const { destinations } = stores;
  expect(await destinations.deleteIfUnused(place.destination.id)).toBe(false);
  expect(await destinations.users(place.destination.id, 2)).toEqual([{ kind: "application", name: application.name }]);
  const other = await destinations.insert({ uuid: testUuid(), server_id: place.server.id, name: "x", network: "x" });
  expect(await destinations.deleteIfUnused(other.id)).toBe(true);
});
