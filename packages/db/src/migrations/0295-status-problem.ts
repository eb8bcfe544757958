import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Why a resource cannot run, and an application on one of its servers. */
export const statusProblem: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table resource add column status_problem text`.execute(db);
    await sql`alter table application_destination add column status_problem text`.execute(db);
  },
};
