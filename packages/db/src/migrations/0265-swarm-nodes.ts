import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  "alter table server add column swarm_cluster_id text",
  "alter table server add column swarm_node_id text",
  "alter table server add column swarm_manager_ids text[] not null default '{}'",
];

export const swarmNodes: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
