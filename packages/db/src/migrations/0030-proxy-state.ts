import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Whether a server's proxy should run, and its last observed status. */
export const proxyState: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table server add column is_proxy_stopped boolean not null default false`.execute(db);
    await sql`alter table server add column proxy_status text`.execute(db);
  },
};
