import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * Tells which of two records of a server is newer. Times cannot: `now()` is the start of a transaction, which may
 * have waited for one that started later.
 */
export const serverRevisions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table server add column revision bigint not null default 0`.execute(db);
    await sql`create function count_server_revision() returns trigger language plpgsql as $$ begin
      new.revision := old.revision + 1;
      return new;
    end $$`.execute(db);
    await sql`create trigger server_revision before update on server
      for each row execute function count_server_revision()`.execute(db);
  },
};
