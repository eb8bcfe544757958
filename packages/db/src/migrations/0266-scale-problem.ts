import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Why an application lacks the number of containers that it should have. */
export const scaleProblem: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table application add column scale_problem text`.execute(db);
  },
};
