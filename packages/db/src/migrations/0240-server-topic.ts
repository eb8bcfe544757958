import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** A change of a server wakes the loops that read servers, and no queue. One of a resource is notified too. */
export const serverTopic: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

const STATEMENTS = [
  `create or replace function wake_workers() returns trigger language plpgsql as $$ begin
    perform pg_notify('berth_queue', 'server');
    return null;
  end $$`,
  `create function notify_record() returns trigger language plpgsql as $$ begin
    perform pg_notify('berth_queue', 'record');
    return null;
  end $$`,
  `create trigger resource_change_notified after insert on resource_change
    for each statement execute function notify_record()`,
];
