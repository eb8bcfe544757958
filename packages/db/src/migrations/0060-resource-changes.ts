import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * Resources of a server that changed since a reader's last look. Times and ids cannot tell, since a transaction may
 * commit after one that began later; transaction ids can, together with the snapshot's list of running ones. A row is
 * inserted by the changing transaction itself and locks nothing.
 */
export const resourceChanges: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of [...TABLE, ...TRIGGERS]) await sql.raw(statement).execute(db);
  },
};

const TABLE = [
  `create table resource_change (
    server_id bigint not null,
    xid xid8 not null,
    resource_id bigint not null,
    at timestamptz(3) not null default clock_timestamp(),
    primary key (server_id, xid, resource_id)
  )`,
  "create index resource_change_at on resource_change (at)",

  `create function record_resource_change() returns trigger language plpgsql as $$ begin
    if tg_op <> 'DELETE' then
      insert into resource_change (server_id, xid, resource_id)
        values (new.server_id, pg_current_xact_id(), new.id) on conflict do nothing;
    end if;
    if tg_op = 'DELETE' or (tg_op = 'UPDATE' and old.server_id <> new.server_id) then
      insert into resource_change (server_id, xid, resource_id)
        values (old.server_id, pg_current_xact_id(), old.id) on conflict do nothing;
    end if;
    return null;
  end $$`,

  // When a resource is deleted, its row is gone before its children's, and its own trigger has recorded it.
  // Sequential scans are disabled, since a session keeps the plan it made while there were few resources.
  `create function record_change_of_resource() returns trigger language plpgsql set enable_seqscan = off as $$ begin
    insert into resource_change (server_id, xid, resource_id)
      select resource.server_id, pg_current_xact_id(), resource.id from resource
      where resource.id = case when tg_op = 'DELETE' then old.resource_id else new.resource_id end
      on conflict do nothing;
    return null;
  end $$`,
];

/** Tables whose rows a worker compares with what runs. A kind's row is inserted together with its resource. */
const PARTS: Readonly<Record<string, string>> = {
  application: "update",
  database: "update",
  service: "update",
  service_container: "insert or update or delete",
  domain: "insert or update or delete",
  application_preview: "insert or update or delete",
  release: "insert or update or delete",
};

const TRIGGERS = [
  `create trigger resource_changed after insert or update or delete on resource
    for each row execute function record_resource_change()`,
  ...Object.entries(PARTS).map(
    ([table, events]) => `create trigger ${table}_changed after ${events} on ${table}
      for each row execute function record_change_of_resource()`,
  ),
];
