import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

export const requiredSecondFactor: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql`alter table team add column second_factor_required boolean not null default false`.execute(db);
  },
};
