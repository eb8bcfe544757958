import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  "alter table deployment add column build_server_id bigint references server on delete set null",
  // Used by the deletion of a server, and for finding what is being built on one.
  "create index deployment_build_server on deployment (build_server_id) where build_server_id is not null",
];

/** Deployments that are built on another server than they run on. */
export const buildServers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
