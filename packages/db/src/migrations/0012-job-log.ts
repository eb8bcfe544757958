import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What a job printed, for those that run programs. */
export const jobLog: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table job add column log text").execute(db);
  },
};
