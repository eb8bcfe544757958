import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What keeps failing, where those who ask for the database or the server read it. */
export const lastingTroubles: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table database add column public_port_problem text`.execute(db);
    await sql`alter table server add column proxy_problem text`.execute(db);
  },
};
