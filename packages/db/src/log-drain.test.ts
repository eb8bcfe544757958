import type { ApplicationRecord, Stores } from "@berth/core/ports";
import { NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import { newDeployment, type TestDatabase, testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const KEYS = { ...NO_LOG_DRAIN_SECRETS, logdrain_axiom_api_key: "readable" };

async function drainedApplication(database: TestDatabase, is_log_drain_enabled = true) {
  const stores = await testTeam(database);
  const place = await testPlace(stores);
  const app = await testApplication(stores, place, { settings: { is_log_drain_enabled } });
  return { stores, app, server: place.server, release: await liveRelease(database, stores, app) };
}

async function liveRelease({ system }: TestDatabase, stores: Stores, app: ApplicationRecord): Promise<number> {
  await stores.deployments.enqueue([newDeployment(app)]);
  const claim = await system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
  if (claim === undefined) throw new Error("It was queued above.");
  const { lease } = claim;
  await system.releases.saveCandidate(lease, {
    artifact: { type: "image", image: "i" },
    built_by: "x",
    upstream: null,
  });
  await system.releases.promote(lease);
  await system.deployments.finish(lease, "finished", null);
  return lease.deployment_id;
}

const flag = (stores: Stores, { id }: ApplicationRecord, is_log_drain_enabled: boolean) =>
  stores.applications.update(id, { settings: { is_log_drain_enabled } });

/** A lease that is held. */
async function heldLease({ system }: TestDatabase) {
  const lease = { name: `server:${testUuid()}`, owner: "worker" };
  await system.leases.acquire(lease.name, lease.owner, 60);
  return lease;
}

/** A delivered line of the release, which is drained since its resource was turned on last. */
async function positionOf({ system }: TestDatabase, { id }: { readonly id: number }, release: number) {
  const { releases } = await system.logDrains.drained(id);
  const listed = releases.find(({ deployment_id }) => deployment_id === release);
  if (listed === undefined) throw new Error(`The release ${release} is not listed.`);
  return { deployment_id: release, since: listed.since, cursor: "7" };
}

onEachBackend((database) => {
  it("keeps secrets encrypted, for the server they were written to alone", async () => {
    const { stores, server } = await drainedApplication(database());
    expect(await stores.logDrains.secrets(server.id)).toBeUndefined();
    await stores.logDrains.save(server.id, KEYS);
    expect(await stores.logDrains.secrets(server.id)).toEqual(KEYS);
    expect(await database().system.logDrains.secrets(server.id)).toEqual(KEYS);
    const { kysely } = database().database;
    const { rows } = await sql<{ sealed: Uint8Array }>`
      select log_drain_secrets as sealed from server where id = ${server.id}`.execute(kysely);
    expect(Buffer.from(rows[0]?.sealed ?? []).toString("latin1")).not.toContain("readable");
    const other = await testPlace(stores);
    await sql`update server set log_drain_secrets = ${rows[0]?.sealed} where id = ${other.server.id}`.execute(kysely);
    await expect(stores.logDrains.secrets(other.server.id)).rejects.toThrow("cannot be decrypted");
    await sql`update server set log_drain_secrets = null where id = ${other.server.id}`.execute(kysely);
  });

  it("lists the releases of resources that ask for it, with where they come from and how far they are", async () => {
    const { app, server, release } = await drainedApplication(database());
    const { logDrains } = database().system;
    const { resourceIds, releases } = await logDrains.drained(server.id);
    expect([...resourceIds]).toEqual([app.id]);
    expect(releases).toMatchObject([
      {
        deployment_id: release,
        resource_uuid: app.uuid,
        resource_name: app.name,
        resource_kind: "application",
        cursor: null,
      },
    ]);
    await logDrains.savePositions(await heldLease(database()), [await positionOf(database(), server, release)]);
    expect((await logDrains.drained(server.id)).releases).toMatchObject([{ cursor: "7" }]);
  });

  it("notes since when with the setting itself, so that a release begun then is delivered from its beginning", async () => {
    const { server } = await drainedApplication(database());
    const { releases } = await database().system.logDrains.drained(server.id);
    const [{ since, created_at } = { since: new Date(), created_at: new Date(0) }] = releases;
    expect(since.getTime()).toBeLessThanOrEqual(created_at.getTime());
  });

  it("lists nothing of resources that do not ask, and forgets what was delivered of them", async () => {
    const { stores, app, server, release } = await drainedApplication(database());
    const { logDrains } = database().system;
    const position = await positionOf(database(), server, release);
    await logDrains.savePositions(await heldLease(database()), [position]);
    await flag(stores, app, false);
    expect(await logDrains.drained(server.id)).toEqual({ resourceIds: new Set(), releases: [] });
    await flag(stores, app, true);
    // Sent before, and saved late.
    await logDrains.savePositions(await heldLease(database()), [position]);
    const [again] = (await logDrains.drained(server.id)).releases;
    expect(again?.cursor).toBeNull();
    expect(again?.since.getTime()).toBeGreaterThanOrEqual(again?.created_at.getTime() ?? 0);
  });

  it("saves no position without the lease, nor of a release that is gone", async () => {
    const { server, release } = await drainedApplication(database());
    const { logDrains, leases, releases } = database().system;
    const lease = await heldLease(database());
    const position = await positionOf(database(), server, release);
    await logDrains.savePositions({ ...lease, owner: "other" }, [position]);
    await leases.release(lease.name, lease.owner);
    await logDrains.savePositions(lease, [position]);
    expect((await logDrains.drained(server.id)).releases).toMatchObject([{ cursor: null }]);
    await releases.delete(release);
    await logDrains.savePositions(await heldLease(database()), [position]);
    expect((await logDrains.drained(server.id)).releases).toEqual([]);
  });

  it("begins anew when the log drain of a server is turned on again", async () => {
    const { stores, server, release } = await drainedApplication(database());
    const { logDrains, servers } = database().system;
    await logDrains.savePositions(await heldLease(database()), [await positionOf(database(), server, release)]);
    await logDrains.recordProblem(server.id, "It answered 403.");
    expect((await servers.find(server.id))?.log_drain_problem).toBe("It answered 403.");
    await stores.logDrains.restart(server.id);
    expect((await servers.find(server.id))?.log_drain_problem).toBeNull();
    const [again] = (await logDrains.drained(server.id)).releases;
    expect(again?.cursor).toBeNull();
    expect(again?.since.getTime()).toBeGreaterThan(again?.created_at.getTime() ?? 0);
  });
});
