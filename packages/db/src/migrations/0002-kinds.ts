import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const KINDS = [
  `create table database (
    resource_id bigint primary key references resource on delete cascade,
    engine text not null,
    settings jsonb not null,
    secrets bytea,
    restart_count integer not null default 0,
    last_restart_at timestamptz(3),
    last_online_at timestamptz(3),
    started_at timestamptz(3)
  )`,
  // The compose file may contain secrets, so all of it is encrypted.
  `create table service (
    resource_id bigint primary key references resource on delete cascade,
    service_type text,
    settings jsonb not null,
    secrets bytea,
    restart_count integer not null default 0,
    last_restart_at timestamptz(3),
    last_online_at timestamptz(3)
  )`,
];

/** Databases and services in addition to applications. */
export const kinds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of KINDS) await sql.raw(statement).execute(db);
  },
};
