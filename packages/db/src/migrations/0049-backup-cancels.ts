import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const RUNS = ["backup_execution", "backup_restore"];

/** Cancellation requests of backups and restores: the worker reads them when it renews its lease. */
export const backupCancels: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const table of RUNS) {
      await sql`alter table ${sql.table(table)} add column cancel_requested_at timestamptz(3)`.execute(db);
    }
  },
};
