import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Checks of a server's validation, with their results. */
export const jobSteps: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table job add column steps jsonb").execute(db);
  },
};
