import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const METRICS = [
  `create table metric (
    resource_id bigint not null references resource on delete cascade,
    at timestamptz(3) not null,
    deployment_uuid text not null,
    cpu_percent double precision,
    memory_bytes bigint not null,
    processes integer not null,
    network_received_bytes bigint,
    network_sent_bytes bigint,
    disk_read_bytes bigint,
    disk_written_bytes bigint,
    primary key (resource_id, at)
  )`,
  // For deleting old rows.
  "create index metric_at on metric (at)",
];

/** Usage samples of resources, kept for a day. */
export const metrics: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of METRICS) await sql.raw(statement).execute(db);
  },
};
