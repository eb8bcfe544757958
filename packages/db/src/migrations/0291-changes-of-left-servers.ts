import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * A change of a resource is read on every server that has a release of it, not only on the server that is recorded with
 * it: a server that the resource left has to learn that its release was replaced, or that the resource is removed.
 */
export const changesOfLeftServers: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

// Sequential scans are disabled, since a session keeps the plan it made while there were few releases.
const STATEMENTS = [
  `create or replace function record_resource_change() returns trigger language plpgsql set enable_seqscan = off
    as $$ begin
    if tg_op <> 'DELETE' then
      insert into resource_change (server_id, xid, resource_id)
        select new.server_id, pg_current_xact_id(), new.id
        union select server_id, pg_current_xact_id(), resource_id from release where resource_id = new.id
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
      select server_id, pg_current_xact_id(), id from resource where id = changed
      union select server_id, pg_current_xact_id(), resource_id from release where resource_id = changed
      on conflict do nothing;
    return null;
  end $$`,

  // The last release on a server that the resource left: nothing else names that server any more.
  `create function record_deleted_release() returns trigger language plpgsql as $$ begin
    insert into resource_change (server_id, xid, resource_id)
      values (old.server_id, pg_current_xact_id(), old.resource_id) on conflict do nothing;
    return null;
  end $$`,
  `create trigger release_deleted after delete on release
    for each row execute function record_deleted_release()`,
];
