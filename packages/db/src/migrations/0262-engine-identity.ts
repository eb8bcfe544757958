import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  "alter table server add column engine_id text",
  // Two records of one engine would each remove what the other one recorded.
  "create unique index server_engine on server (engine_id) where engine_id is not null",
];

export const engineIdentity: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
