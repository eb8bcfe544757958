import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** An attempt that waits for a second factor remembers whom the provider named. Those in flight begin again. */
export const attemptIdentity: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`delete from provider_attempt`.execute(db);
    await sql`alter table provider_attempt add column found_subject text`.execute(db);
  },
};
