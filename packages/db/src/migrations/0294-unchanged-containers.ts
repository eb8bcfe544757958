import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whether a deployment of a service leaves containers running that have not changed, even if none has. */
export const unchangedContainers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table deployment add column keeps_unchanged boolean not null default false").execute(db);
  },
};
