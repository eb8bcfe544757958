import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Workers keep the list of servers until they are woken, so each change of a server wakes them. */
export const serverWakes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

const STATEMENTS = [
  `create function wake_workers() returns trigger language plpgsql as $$ begin
    perform pg_notify('berth_queue', '');
    return null;
  end $$`,
  `create trigger server_wakes after insert or update or delete on server
    for each statement execute function wake_workers()`,
];
