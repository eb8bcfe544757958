import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Output of jobs that run programs. */
export const jobLog: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table job add column log text").execute(db);
  },
};
