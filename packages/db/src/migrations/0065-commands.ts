import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Commands that are run once are tasks without a schedule. */
export const commands: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table scheduled_task add column is_one_off boolean not null default false`.execute(db);
    await sql`create index scheduled_task_one_off on scheduled_task (resource_id, id) where is_one_off`.execute(db);
  },
};
