import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

/** Which storages have a volume on their server: a start without that volume is refused. */
export const volumes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw("alter table storage add column has_volume boolean not null default false").execute(db);
  },
};
