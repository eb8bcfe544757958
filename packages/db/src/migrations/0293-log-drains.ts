import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Log drains of servers: their secrets, why they fail, and how far the lines of each release are delivered. */
export const logDrains: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

const STATEMENTS = [
  "alter table server add column log_drain_secrets bytea",
  "alter table server add column log_drain_problem text",
  `create table log_drain_resource (
    server_id bigint not null references server (id) on delete cascade,
    resource_id bigint not null references resource (id) on delete cascade,
    since timestamptz(3) not null default now(),
    primary key (server_id, resource_id)
  )`,
  "create index log_drain_resource_resource on log_drain_resource (resource_id)",
  // Noted with the change itself: a deployment may begin before a worker sees it.
  `create function record_log_drain() returns trigger language plpgsql as $$ begin
    insert into log_drain_resource (server_id, resource_id)
      select server_id, id from resource where id = new.resource_id on conflict do nothing;
    return null;
  end $$`,
  `create trigger application_log_drain after insert or update of settings on application
    for each row when (new.settings @> '{"is_log_drain_enabled": true}') execute function record_log_drain()`,
  // It changes with each batch. In a row of the release it would wake the workers, which watch those.
  `create table log_drain_position (
    deployment_id bigint primary key references release (deployment_id) on delete cascade,
    cursor text not null
  )`,
];
