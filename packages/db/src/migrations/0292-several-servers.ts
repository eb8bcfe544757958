import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * Applications that are deployed to several servers: a row for each of them, the primary one included, which stays
 * recorded with the resource. A deployment of all servers is one for each, which follow the first.
 */
export const severalServers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

// Sequential scans are disabled, since a session keeps the plan it made while there were few rows.
const STATEMENTS = [
  `create table application_destination (
    resource_id bigint not null references resource (id) on delete cascade,
    server_id bigint not null references server (id) on delete cascade,
    destination_id bigint not null references destination (id),
    status text not null default 'exited:unhealthy',
    restart_count integer not null default 0,
    is_given_up boolean not null default false,
    scale_problem text,
    created_at timestamptz(3) not null default now(),
    primary key (resource_id, server_id)
  )`,
  "create index application_destination_server on application_destination (server_id)",
  "create index application_destination_destination on application_destination (destination_id)",

  "alter table deployment add column follows text",
  `create index deployment_follows on deployment (follows) where follows is not null and status = 'queued'`,

  // Each server of a resource, and each that it left, reads its changes.
  `create function servers_of_resource(resource_id bigint) returns setof bigint language sql stable
    set enable_seqscan = off as $$
    select server_id from resource where id = $1
    union select server_id from release where release.resource_id = $1
    union select server_id from application_destination attached where attached.resource_id = $1
  $$`,

  `create or replace function record_resource_change() returns trigger language plpgsql set enable_seqscan = off
    as $$ begin
    if tg_op <> 'DELETE' then
      insert into resource_change (server_id, xid, resource_id)
        select server_id, pg_current_xact_id(), new.id from servers_of_resource(new.id) server_id
        on conflict do nothing;
    end if;
    if tg_op = 'DELETE' or (tg_op = 'UPDATE' and old.server_id <> new.server_id) then
      insert into resource_change (server_id, xid, resource_id)
        values (old.server_id, pg_current_xact_id(), old.id) on conflict do nothing;
    end if;
    return null;
  end $$`,

  `create or replace function record_change_of_resource() returns trigger language plpgsql set enable_seqscan = off
    as $$
  declare
    changed bigint := case when tg_op = 'DELETE' then old.resource_id else new.resource_id end;
  begin
    insert into resource_change (server_id, xid, resource_id)
      select server_id, pg_current_xact_id(), changed from servers_of_resource(changed) server_id
      on conflict do nothing;
    return null;
  end $$`,

  `create trigger application_destination_changed after insert or update or delete on application_destination
    for each row execute function record_change_of_resource()`,
  // The server that was detached is named by this row alone, unless it has a release.
  `create trigger application_destination_deleted after delete on application_destination
    for each row execute function record_deleted_release()`,
];
