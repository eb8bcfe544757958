import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Deployments that run an earlier build again. */
export const rollbacks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table deployment add column rollback_to text").execute(db);
  },
};
