import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** A change of a server wakes the loops that read servers, and no queue. */
export const serverTopic: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create or replace function wake_workers() returns trigger language plpgsql as $$ begin
      perform pg_notify('berth_queue', 'server');
      return null;
    end $$`.execute(db);
  },
};
