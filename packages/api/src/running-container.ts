import { RunningContainer } from "@berth/core/resource";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { article, onResource, perKind } from "./per-kind.ts";

export const server_uuid = z
  .string()
  .optional()
  .describe("Which of its servers is meant, if there are several. Default: the primary one.");

/** Only applications are deployed to several servers. */
const SERVER_INPUT = { application: { server_uuid }, service: {}, database: {} };

const serverOf = (input: { readonly server_uuid?: unknown }) =>
  typeof input.server_uuid === "string" ? input.server_uuid : undefined;

export const containers = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/containers",
    operationId: "list-containers-by-{kind}-uuid",
    summary: `List the containers of ${article(kind)}`,
    description: "Those of its live release, as its server reports them now. Empty where nothing was deployed.",
    ability: "read",
    input: z.strictObject({ ...paging, ...SERVER_INPUT[kind] }),
    errors: ["engine.unreachable"],
  })
    .output(z.array(RunningContainer))
    .query(async ({ ctx, input: { uuid, skip = 0, take, ...input } }) => {
      const { items, total } = await ctx.control.containers.list({ kind, uuid }, serverOf(input));
      const page = items.slice(skip, take === undefined ? undefined : skip + take);
      return [...listed(ctx, { items: page, total }, { skip, take })];
    }),
}));
