import type { MetricStore, ServerMetricRecord, SystemMetricStore } from "@berth/core/ports";
import { SERVER_METRIC_MINUTES } from "@berth/core/schedule";
import { sql } from "kysely";
import { METRIC_CHANNEL, METRIC_TOPIC } from "./changes.ts";
import type { StoreContext, TeamContext } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
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
  "requests_per_second",
] as const;

/** In case a notification was lost with the connection to the database. */
const WAIT_MS_MAX = 30_000;

export function metricStore({ db, teamId, database }: TeamContext): MetricStore {
  // The version at the first read after the last wait, so that a follower that reads, then waits, misses nothing.
  let seen: number | undefined;
  return {
    list(resourceId, since, paging = {}) {
      seen ??= database.changes.clock();
      const own = db.selectFrom("resource").select("id").where("id", "=", resourceId).where("team_id", "=", teamId);
      const samples = db.selectFrom("metric").where("resource_id", "=", own).where("at", ">=", since);
      return page(
        paging,
        (window) => within(samples.select(COLUMNS).orderBy("resource_id").orderBy("at"), window).execute(),
        () => countRows(samples),
      );
    },
    async listByServer(serverId, since) {
      seen ??= database.changes.clock();
      const resources = db.selectFrom("resource").select("id").where("team_id", "=", teamId);
      const own = ofOwner(resources, { owner: "resource.server_id", is: serverId, id: "resource.id" });
      const { rows } = await sql<ServerMetricRecord>`
      select at, sum(cpu_percent) as cpu_percent, round(sum(memory_bytes))::bigint as memory_bytes,
        round(sum(processes))::int as processes, count(*)::int as resources
      from (${own}) as own cross join lateral (
        select date_bin(${SERVER_METRIC_MINUTES}::int * interval '1 minute', at, 'epoch') as at,
          avg(cpu_percent) as cpu_percent, avg(memory_bytes) as memory_bytes, avg(processes) as processes
        from metric
        where resource_id = own.id and at >= ${since}
        group by 1
      ) as used
      group by at order by at`.execute(db);
      return rows;
    },
    newest(since, paging = {}) {
      seen ??= database.changes.clock();
      const samples = db
        .selectFrom("metric")
        .innerJoin("resource", "resource.id", "metric.resource_id")
        .where("resource.team_id", "=", teamId)
        .where("metric.at", ">=", since);
      return page(
        paging,
        (window) =>
          within(
            samples
              .distinctOn("metric.resource_id")
              .select(["resource.uuid", "metric.at", "metric.cpu_percent", "metric.memory_bytes"])
              .orderBy("metric.resource_id")
              .orderBy("metric.at", "desc"),
            window,
          ).execute(),
        async () => {
          const measured = samples.select(({ fn }) => fn.count<number>("metric.resource_id").distinct().as("total"));
          return (await measured.executeTakeFirstOrThrow()).total;
        },
      );
    },
    async changed(signal) {
      await database.changes.wait(METRIC_TOPIC, seen ?? database.changes.clock(), signal, WAIT_MS_MAX);
      seen = undefined;
    },
  };
}

export const systemMetricStore = ({ db }: StoreContext): SystemMetricStore => ({
  async insert(samples) {
    if (samples.length === 0) return;
    const columns = sql.join(COLUMNS.map((column) => sql.ref(column)));
    const values = sql.join(COLUMNS.map((column) => sql.ref(`sample.${column}`)));
    await sql`
      with added as (
      insert into metric (resource_id, ${columns})
      select resource.id, ${values}
      from jsonb_to_recordset(${storableJson(samples)}::jsonb) as sample
        (resource_id bigint, at timestamptz, deployment_uuid text, cpu_percent double precision, memory_bytes bigint,
         processes int, network_received_bytes bigint, network_sent_bytes bigint, disk_read_bytes bigint,
         disk_written_bytes bigint, requests_per_second double precision)
      join resource on resource.id = sample.resource_id
      on conflict do nothing returning 1
      )
      select pg_notify(${sql.lit(METRIC_CHANNEL)}, 'added') from added limit 1`.execute(db);
  },
  async prune(before) {
    await db.deleteFrom("metric").where("at", "<", before).execute();
  },
});
