import type { Page, Paging } from "./records.ts";

/** Usage of a resource at one moment. Counters are relative to the previous sample; `null` without one. */
export interface MetricRecord {
  readonly at: Date;
  /** Deployment of the measured release. */
  readonly deployment_uuid: string;
  /** Percent of one processor: two busy processors are 200. */
  readonly cpu_percent: number | null;
  readonly memory_bytes: number;
  readonly processes: number;
  readonly network_received_bytes: number | null;
  readonly network_sent_bytes: number | null;
  readonly disk_read_bytes: number | null;
  readonly disk_written_bytes: number | null;
  /** Answered for a site whose requests are counted. */
  readonly requests_per_second: number | null;
}

/** What all resources of a server used in an interval of `SERVER_METRIC_MINUTES`. */
export interface ServerMetricRecord extends Pick<MetricRecord, "at" | "cpu_percent" | "memory_bytes" | "processes"> {
  /** Number of measured resources. */
  readonly resources: number;
}

/** The newest sample of a resource. */
export interface ResourceUsageRecord extends Pick<MetricRecord, "at" | "cpu_percent" | "memory_bytes"> {
  readonly uuid: string;
}

export interface MetricStore {
  /** Oldest first. */
  list(resourceId: number, since: Date, paging?: Paging): Promise<Page<MetricRecord>>;
  /** Sums over the team's resources on the server, by the begin of each interval. Oldest first. */
  listByServer(serverId: number, since: Date): Promise<readonly ServerMetricRecord[]>;
  /** The newest sample of each resource of the team that has one since then, in order of creation. */
  newest(since: Date, paging?: Paging): Promise<Page<ResourceUsageRecord>>;
  /** Resolves when samples were added since the first read after the last wait, on `signal`, or after 30 seconds. */
  changed(signal: AbortSignal): Promise<void>;
}

export interface SystemMetricStore {
  /** Samples of deleted resources are dropped. */
  insert(samples: readonly (MetricRecord & { readonly resource_id: number })[]): Promise<void>;
  prune(before: Date): Promise<void>;
}
