import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const PUBLIC_PORTS = [
  // The server's id stands here too, since an index has columns of one table: a resource stays on its server.
  `alter table database
    add column server_id bigint not null references server,
    add column is_public boolean not null default false,
    add column public_port integer`,
  // One public database for each port of a server: the index decides a race.
  "create unique index database_public_port on database (server_id, public_port) where is_public",
  "create index database_server on database (server_id)",
];

export const databases: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of PUBLIC_PORTS) await sql.raw(statement).execute(db);
  },
};
