import { z } from "zod";
import type { ReleaseUsage, TransferredBytes } from "../ports/engine.ts";
import type { MetricRecord } from "../ports/metric.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

/** How long samples are kept. */
export const METRICS_KEPT_HOURS = 24;

export const MetricQuery = z.strictObject({
  since: z.iso
    .datetime({ offset: true })
    .optional()
    .describe(`Samples from this moment on. Default: all that are kept, ${METRICS_KEPT_HOURS} hours.`),
});

const Bytes = z.int().nullable();
const CpuPercent = z.number().nullable().describe("Percent of one processor: two busy processors are 200.");

export const Metric = z
  .object({
    at: Timestamp,
    deployment_uuid: z.string().describe("Deployment of the measured release."),
    cpu_percent: z
      .number()
      .nullable()
      .describe("Percent of one processor since the previous sample: two busy processors are 200."),
    memory_bytes: z.int(),
    processes: z.int(),
    network_received_bytes: Bytes.describe("Since the previous sample; null if unknown."),
    network_sent_bytes: Bytes,
    disk_read_bytes: Bytes,
    disk_written_bytes: Bytes,
    requests_per_second: z
      .number()
      .nullable()
      .describe("Answered since the previous sample; null if unknown, or if no autoscaling by requests asks for it."),
  })
  .meta({ id: "Metric", description: "Usage of a resource at one moment." });
export type Metric = z.infer<typeof Metric>;

/** Any kind of sample, with its time as text. */
export const metricView = <Sample extends { readonly at: Date }>({ at, ...metric }: Sample) => ({
  at: timestamp(at),
  ...metric,
});

/** Length of the intervals of a server's usage: twice that of samples, so that each resource is in each interval. */
export const SERVER_METRIC_MINUTES = 2;

export const ServerMetric = z
  .object({
    at: Timestamp.describe(`Begin of an interval of ${SERVER_METRIC_MINUTES} minutes.`),
    cpu_percent: CpuPercent,
    memory_bytes: z.int(),
    processes: z.int(),
    resources: z.int().describe("Number of measured resources."),
  })
  .meta({ id: "ServerMetric", description: "Usage of all of a server's resources together." });
export type ServerMetric = z.infer<typeof ServerMetric>;

/** A resource without a sample in this time does not run. */
export const USAGE_CURRENT_SECONDS = SERVER_METRIC_MINUTES * 60;

export const ResourceUsage = z
  .object({
    uuid: z.string().describe("The resource's identifier."),
    at: Timestamp,
    cpu_percent: CpuPercent,
    memory_bytes: z.int(),
  })
  .meta({ id: "ResourceUsage", description: "Usage of a running resource, by its newest sample." });
export type ResourceUsage = z.infer<typeof ResourceUsage>;

/** One reading of a release's usage. */
export interface UsageReading {
  readonly at: Date;
  readonly deploymentUuid: string;
  readonly usage: ReleaseUsage;
  /** What the proxy has answered for it; missing if that is unknown, or requests of another release are among them. */
  readonly answered?: AnswerReading | undefined;
}

export interface AnswerReading {
  readonly at: Date;
  /** Of the proxy, as in `AnsweredRequests`. */
  readonly run: string;
  readonly count: number;
}

/**
 * @param before Previous reading of the same resource. Counters of another release, or from before a restart, are
 * ignored.
 */
export function metricOf(
  before: UsageReading | undefined,
  { at, deploymentUuid, usage, answered }: UsageReading,
): MetricRecord {
  const last = before?.deploymentUuid === deploymentUuid ? before : undefined;
  const seconds = last === undefined ? 0 : (at.getTime() - last.at.getTime()) / 1000;
  const cpuSeconds = grown(last?.usage.cpuSeconds, usage.cpuSeconds);
  const network = transferred(last?.usage.networkBytes, usage.networkBytes);
  const disk = transferred(last?.usage.diskBytes, usage.diskBytes);
  return {
    at,
    deployment_uuid: deploymentUuid,
    cpu_percent: cpuSeconds === null || seconds <= 0 ? null : Math.round((cpuSeconds / seconds) * 10_000) / 100,
    memory_bytes: Math.round(usage.memoryBytes),
    processes: usage.processes,
    network_received_bytes: network.in,
    network_sent_bytes: network.out,
    disk_read_bytes: disk.in,
    disk_written_bytes: disk.out,
    requests_per_second: requestRate(last?.answered, answered),
  };
}

function requestRate(before: AnswerReading | undefined, now: AnswerReading | undefined): number | null {
  if (before === undefined || now === undefined || before.run !== now.run) return null;
  const seconds = (now.at.getTime() - before.at.getTime()) / 1000;
  const requests = grown(before.count, now.count);
  return requests === null || seconds <= 0 ? null : Math.round((requests / seconds) * 100) / 100;
}

const transferred = (before: TransferredBytes | undefined, now: TransferredBytes | undefined) => ({
  in: grown(before?.in, now?.in),
  out: grown(before?.out, now?.out),
});

const grown = (before: number | undefined, now: number | undefined): number | null =>
  before === undefined || now === undefined || now < before ? null : now - before;
