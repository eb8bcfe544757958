import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Who asked for a deployment. Of those of before, the events that are still kept say it. */
export const deploymentActors: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table deployment add column actor jsonb`.execute(db);
    await sql`update deployment set actor = event.actor from event
      where event.type = 'deployment.queued' and event.team_id = deployment.team_id
        and event.payload ->> 'deployment_uuid' = deployment.uuid and event.actor is not null`.execute(db);
  },
};
