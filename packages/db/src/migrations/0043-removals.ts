import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * Options of a resource's removal, and a record of removed resources: objects of them that are found on a server
 * later are known to be this instance's.
 */
export const removals: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};

const STATEMENTS = [
  `alter table resource add column docker_cleanup boolean not null default true,
    add column delete_connected_networks boolean not null default true`,
  `create table removed_resource (
    uuid text primary key,
    removed_at timestamptz(3) not null default now()
  )`,
  // Runs however the row is deleted: directly or by a cascade.
  `create function record_removed_resource() returns trigger language plpgsql as $$
  begin
    insert into removed_resource (uuid) values (old.uuid) on conflict do nothing;
    return null;
  end $$`,
  `create trigger record_removed_resource after delete on resource
    for each row execute function record_removed_resource()`,
];
