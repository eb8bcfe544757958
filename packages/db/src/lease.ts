import type { LeaseStore } from "@berth/core";
import { sql } from "kysely";
import type { Context } from "./context.ts";

/** By the database's clock: replicas need not agree on the time. */
export function leaseStore({ db }: Context): LeaseStore {
  return {
    async acquire(name, owner, seconds) {
      const { rows } = await sql`
        insert into lease (name, owner, expires_at)
        values (${name}, ${owner}, clock_timestamp() + ${seconds} * interval '1 second')
        on conflict (name) do update set owner = excluded.owner, expires_at = excluded.expires_at
          where lease.owner = excluded.owner or lease.expires_at < clock_timestamp()
        returning name`.execute(db);
      return rows.length > 0;
    },
    async release(name, owner) {
      await db.deleteFrom("lease").where("name", "=", name).where("owner", "=", owner).execute();
    },
  };
}
