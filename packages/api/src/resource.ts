import { Resource } from "@berth/core/resource";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

export const resources = {
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
};
