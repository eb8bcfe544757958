import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  // Values are encrypted: without this, users of a database could only be found by decrypting all of them.
  "alter table env add column names_database boolean not null default false",
  "create index env_names_database on env (resource_id) where names_database",
  "alter table database add column loopback_port integer",
  "create unique index database_loopback_port on database (server_id, loopback_port) where loopback_port is not null",
  // Queried every few seconds.
  "create index database_forwarded on database (server_id) where is_public or loopback_port is not null",
];

/** Variables that reference databases, and loopback ports of databases. */
export const databaseReferences: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
