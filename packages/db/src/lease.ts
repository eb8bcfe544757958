import type { LeaseStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";

/** Uses the database's clock, since clocks of control planes differ. */
export function leaseStore({ database: { leases: db } }: StoreContext): LeaseStore {
  const acquireAll: LeaseStore["acquireAll"] = async (names, owner, seconds) => {
    // In a fixed order, so that control planes that acquire the same leases at once cannot deadlock.
    const { rows } = await sql<{ readonly name: string }>`
      insert into lease (name, owner, expires_at)
      select name, ${owner}, clock_timestamp() + ${seconds}::float8 * interval '1 second'
        from unnest(${[...new Set(names)].sort()}::text[]) as name
      on conflict (name) do update set owner = excluded.owner, expires_at = excluded.expires_at
        where lease.owner = excluded.owner or lease.expires_at < clock_timestamp()
      returning name`.execute(db);
    return new Set(rows.map(({ name }) => name));
  };
  return {
    acquire: async (name, owner, seconds) => (await acquireAll([name], owner, seconds)).has(name),
    acquireAll,
    async release(name, owner) {
      // The row is kept, since it shows since when nobody has the lease.
      await sql`update lease set expires_at = clock_timestamp() - interval '1 millisecond'
        where name = ${name} and owner = ${owner} and expires_at > clock_timestamp()`.execute(db);
    },
  };
}
