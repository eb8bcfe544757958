import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** All resources of an environment, of any kind, in the order of the list. */
const RESOURCES_OF_ENVIRONMENT = "create index resource_environment_all on resource (environment_id, id)";

export const lists: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw(RESOURCES_OF_ENVIRONMENT).execute(db);
  },
};
