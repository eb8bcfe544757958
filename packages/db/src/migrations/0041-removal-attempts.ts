import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Removals that fail repeatedly are retried less and less often. */
export const removalAttempts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index backup_removal_attempts on backup_removal (attempts)`.execute(db);
  },
};
