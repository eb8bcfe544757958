import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const requestRates: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table metric add column requests_per_second double precision`.execute(db);
  },
};
