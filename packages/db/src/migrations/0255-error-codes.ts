import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Why a step failed, for programs. Steps that failed before have only the sentence. */
export const errorCodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table deployment_step add column error_code text`.execute(db);
  },
};
