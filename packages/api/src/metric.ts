import { Metric, MetricQuery, ResourceUsage, ServerMetric, USAGE_CURRENT_SECONDS } from "@berth/core/schedule";
import { tracked } from "@trpc/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { article, onResource, perKind } from "./per-kind.ts";
import { resumable } from "./stream.ts";

/** Ids of received events are times, too; others are ignored. */
function dateOf(text: string | null | undefined): Date | undefined {
  const { data } = MetricQuery.shape.since.safeParse(text);
  return data === undefined ? undefined : new Date(data);
}

const ofResources = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/metrics",
    operationId: "list-metrics-by-{kind}-uuid",
    summary: `List the usage of ${article(kind)}`,
    description: "CPU, memory, network and disk, sampled every minute. Oldest first.",
    ability: "read",
    input: MetricQuery.extend(paging),
  })
    .output(z.array(Metric))
    .query(async ({ ctx, input: { uuid, since, ...page } }) => [
      ...listed(ctx, await ctx.control.metrics.list({ kind, uuid }, dateOf(since), page), page),
    ]),

  follow: onResource(kind, {
    method: "GET",
    path: "/metrics/follow",
    operationId: "follow-metrics-by-{kind}-uuid",
    summary: `Follow the usage of ${article(kind)}`,
    description: "Each sample as it is taken, from `since`, after the last received one, or from now on.",
    ability: "read",
    input: MetricQuery.extend(resumable),
    events: Metric,
  }).subscription(async ({ ctx, input: { uuid, since, lastEventId }, signal }) => {
    const options = { after: dateOf(lastEventId), since: dateOf(since), signal: signal ?? ctx.signal };
    return trackedSamples(await ctx.control.metrics.follow({ kind, uuid }, options));
  }),
}));

const uuid = z.string().describe("The server's identifier.");
const OF_SERVER = { tag: "Servers", ability: "read" } as const;

const ofServers = {
  list: operation({
    ...OF_SERVER,
    method: "GET",
    path: "/servers/{uuid}/metrics",
    operationId: "list-metrics-by-server-uuid",
    summary: "List the usage of a server",
    description: "What its resources use together. Other programs of the machine are not counted. Oldest first.",
  })
    .input(MetricQuery.extend({ uuid }))
    .output(z.array(ServerMetric))
    .query(async ({ ctx, input }) => [...(await ctx.control.metrics.listByServer(input.uuid, dateOf(input.since)))]),

  follow: operation({
    ...OF_SERVER,
    method: "GET",
    path: "/servers/{uuid}/metrics/follow",
    operationId: "follow-metrics-by-server-uuid",
    summary: "Follow the usage of a server",
    description: "The newest interval is sent again while samples are added to it.",
    events: ServerMetric,
  })
    .input(MetricQuery.extend({ uuid, ...resumable }))
    .subscription(async ({ ctx, input, signal }) => {
      const options = { after: dateOf(input.lastEventId), since: dateOf(input.since), signal: signal ?? ctx.signal };
      return trackedSamples(await ctx.control.metrics.followByServer(input.uuid, options));
    }),
};

const OF_ALL = { tag: "System", ability: "read" } as const;

/** What all running resources use now. */
export const usage = {
  list: operation({
    ...OF_ALL,
    method: "GET",
    path: "/resources/usage",
    operationId: "list-resource-usage",
    summary: "List what all running resources use",
    description: `The newest sample of each. One without a sample in the last ${USAGE_CURRENT_SECONDS} seconds is left out.`,
  })
    .input(z.strictObject(paging))
    .output(z.array(ResourceUsage))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.metrics.newest(input), input)]),

  follow: operation({
    ...OF_ALL,
    method: "GET",
    path: "/resources/usage/follow",
    operationId: "follow-resource-usage",
    summary: "Follow what all running resources use",
    description: "What all of them use, again with each sampling: every minute.",
    events: z.array(ResourceUsage),
  })
    .input(z.strictObject(resumable))
    .subscription(({ ctx, signal }) => ctx.control.metrics.followNewest(signal ?? ctx.signal)),
};

async function* trackedSamples<M extends { readonly at: string }>(samples: AsyncIterable<M>) {
  for await (const sample of samples) yield tracked(sample.at, sample);
}

export const metrics = { ...ofResources, server: ofServers };
