import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** A resource may have a live release on each of several servers: on the one it leaves and on the one it moves to. */
export const liveByServer: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

// The new index allows everything that the old one allowed, so it can be created whatever is recorded.
const STATEMENTS = [
  "drop index release_one_live",
  `create unique index release_one_live on release (resource_id, server_id, pull_request_id)
    where role = 'live'`,
];
