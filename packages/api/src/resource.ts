import { Resource, ResourceSummary } from "@berth/core/resource";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { usage } from "./metric.ts";
import { operation } from "./operation.ts";

export const resources = {
  summaries: operation({
    method: "GET",
    path: "/resources/summaries",
    operationId: "list-resource-summaries",
    tag: "System",
    summary: "List what an overview shows of all resources",
    description: "Status, URLs, last deployment and problems of each, without its settings: a long list stays small.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(ResourceSummary))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.resources.summaries(input), input)]),

  list: operation({
    method: "GET",
    path: "/resources",
    operationId: "list-resources",
    tag: "System",
    summary: "List all resources",
    description: "Of every kind; `type` says which.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Resource))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.resources.list(input), input)]),

  usage,
};
