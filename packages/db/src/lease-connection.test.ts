import { testDatabase } from "@berth/testing";
import { sql } from "kysely";
import { expect, test } from "vitest";

const CONNECTIONS_MAX = 3;
/** Arbitrary key of an advisory lock. */
const LOCK = 20_377;

test("a lease is acquired and renewed while other work waits for connections", async () => {
  const { database, system, close } = await testDatabase({ connectionsMax: CONNECTIONS_MAX });
  const [locked, unlock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = database.kysely.connection().execute(async (db) => {
    await sql`select pg_advisory_lock(${LOCK}::bigint)`.execute(db);
    locked.resolve();
    await unlock.promise;
    await sql`select pg_advisory_unlock(${LOCK}::bigint)`.execute(db);
  });
  await locked.promise;
  // The server's limit ends these statements, so a lease that waited for them would come later than the first.
  const waiting = Array.from({ length: 2 * CONNECTIONS_MAX }, () =>
    sql`select pg_advisory_xact_lock(${LOCK}::bigint)`.execute(database.kysely),
  );
  const first = Promise.race(waiting).then(
    () => "other work ended first",
    () => "other work was given up first",
  );
  try {
    for (let renewal = 0; renewal < 2; renewal += 1) {
      expect(await Promise.race([system.leases.acquire("server:1", "me", 60), first])).toBe(true);
    }
  } finally {
    unlock.resolve();
    await Promise.allSettled([holding, ...waiting]);
    await close();
  }
});
