import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const SERVER = [
  `alter table server
    add column host_key text,
    add column unreachable_count integer not null default 0,
    add column probes integer not null default 0,
    add column is_disk_usage_high boolean not null default false,
    add column server_metadata jsonb`,
];

/** Host key, reachability and facts of a server's machine. */
export const serverLinks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of SERVER) await sql.raw(statement).execute(db);
  },
};
