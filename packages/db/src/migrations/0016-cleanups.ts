import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** The last request for a subject is looked up whenever the work may be due again. */
export const cleanups: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("create index job_last_request on job (subject_id, type, id)").execute(db);
  },
};
