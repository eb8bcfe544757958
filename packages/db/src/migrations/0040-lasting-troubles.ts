import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Lasting problems of databases and servers, shown in their answers. */
export const lastingTroubles: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table database add column public_port_problem text`.execute(db);
    await sql`alter table server add column proxy_problem text`.execute(db);
  },
};
