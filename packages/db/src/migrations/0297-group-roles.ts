import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  "alter table identity_provider add column groups_claim text not null default 'groups'",
  "alter table identity_provider add column group_roles jsonb not null default '[]'",
  // Without its provider, a membership is as if a person had given it.
  "alter table team_member add column provider_id bigint references identity_provider on delete set null",
  "create index team_member_provider on team_member (provider_id)",
];

/** Roles in teams that groups at identity providers give. */
export const groupRoles: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
