import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** A preview that is asked for while it is being removed is made anew by the end of its removal. */
export const reopenedPreviews: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table application_preview add column is_reopened boolean not null default false`.execute(db);
  },
};
