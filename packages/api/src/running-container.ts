import { RunningContainer } from "@berth/core/resource";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { article, onResource, perKind } from "./per-kind.ts";

export const containers = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/containers",
    operationId: "list-containers-by-{kind}-uuid",
    summary: `List the containers of ${article(kind)}`,
    description: "Those of its live release, as its server reports them now. Empty where nothing was deployed.",
    ability: "read",
    input: z.strictObject(paging),
    errors: ["engine.unreachable"],
  })
    .output(z.array(RunningContainer))
    .query(async ({ ctx, input: { uuid, skip = 0, take } }) => {
      const { items, total } = await ctx.control.containers.list({ kind, uuid });
      const page = items.slice(skip, take === undefined ? undefined : skip + take);
      return [...listed(ctx, { items: page, total }, { skip, take })];
    }),
}));
