import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Finds resources that were removed long ago, whose records are deleted. */
export const removedResources: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`create index removed_resource_removed_at on removed_resource (removed_at)`.execute(db);
  },
};
