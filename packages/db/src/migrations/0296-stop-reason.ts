import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Why Berth stopped a resource by itself. */
export const stopReason: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table resource add column stop_reason text`.execute(db);
  },
};
