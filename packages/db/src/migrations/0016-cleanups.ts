import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** When work on a subject was asked for last is looked up whenever it may be due again. */
export const cleanups: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("create index job_last_request on job (subject_id, type, id)").execute(db);
  },
};
