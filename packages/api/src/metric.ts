import { Metric, MetricQuery } from "@berth/core/schedule";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource, perKind } from "./per-kind.ts";

export const metrics = perKind(["application"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/metrics",
    operationId: "list-metrics-by-{kind}-uuid",
    summary: `List the usage of an ${kind}`,
    description: "CPU, memory, network and disk, sampled every minute. Oldest first.",
    ability: "read",
    input: MetricQuery.extend(paging),
  })
    .output(z.array(Metric))
    .query(async ({ ctx, input: { uuid, since, ...page } }) => [
      ...listed(ctx, await ctx.control.metrics.list({ kind, uuid }, since ? new Date(since) : undefined, page), page),
    ]),
}));
