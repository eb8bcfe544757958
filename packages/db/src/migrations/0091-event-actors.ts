import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** The actor of an event. `created_at` is almost in the order of the ids, so a small index finds old rows. */
export const eventActors: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table event add column actor jsonb`.execute(db);
    await sql`create index event_resource on event (team_id, resource_uuid, id) where resource_uuid is not null`.execute(
      db,
    );
    await sql`create index event_age on event using brin (created_at)`.execute(db);
  },
};
