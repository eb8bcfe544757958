import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** What was tried in vain for long enough is looked for again and again, and is seldom there. */
export const removalAttempts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index backup_removal_attempts on backup_removal (attempts)`.execute(db);
  },
};
