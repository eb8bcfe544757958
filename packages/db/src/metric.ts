import type { MetricStore, SystemMetricStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { Context, TeamContext } from "./context.ts";
import { countRows, page, within } from "./page.ts";
import { storableJson } from "./storable.ts";

const COLUMNS = [
  "at",
  "deployment_uuid",
  "cpu_percent",
  "memory_bytes",
  "processes",
  "network_received_bytes",
  "network_sent_bytes",
  "disk_read_bytes",
  "disk_written_bytes",
] as const;

export const metricStore = ({ db, teamId }: TeamContext): MetricStore => ({
  list(resourceId, since, paging = {}) {
    const own = db.selectFrom("resource").select("id").where("id", "=", resourceId).where("team_id", "=", teamId);
    const samples = db.selectFrom("metric").where("resource_id", "=", own).where("at", ">=", since);
    return page(
      paging,
      (window) => within(samples.select(COLUMNS).orderBy("resource_id").orderBy("at"), window).execute(),
      () => countRows(samples),
    );
  },
});

export const systemMetricStore = ({ db }: Context): SystemMetricStore => ({
  async insert(samples) {
    if (samples.length === 0) return;
    const columns = sql.join(COLUMNS.map((column) => sql.ref(column)));
    const values = sql.join(COLUMNS.map((column) => sql.ref(`sample.${column}`)));
    await sql`
      insert into metric (resource_id, ${columns})
      select resource.id, ${values}
      from jsonb_to_recordset(${storableJson(samples)}::jsonb) as sample
        (resource_id bigint, at timestamptz, deployment_uuid text, cpu_percent double precision, memory_bytes bigint,
         processes int, network_received_bytes bigint, network_sent_bytes bigint, disk_read_bytes bigint,
         disk_written_bytes bigint)
      join resource on resource.id = sample.resource_id
      on conflict do nothing`.execute(db);
  },
  async prune(before) {
    await db.deleteFrom("metric").where("at", "<", before).execute();
  },
});
