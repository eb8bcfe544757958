import { Message } from "@berth/core";
import { Tag, TagAttach } from "@berth/core/resource";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { article, onResource, perKind } from "./per-kind.ts";

export const resourceTags = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/tags",
    operationId: "list-tags-by-{kind}-uuid",
    summary: `List the tags of ${article(kind)}`,
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(Tag))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.tags.listOf({ kind, uuid }, page), page),
    ]),

  attach: onResource(kind, {
    method: "POST",
    path: "/tags",
    operationId: "create-tag-by-{kind}-uuid",
    summary: "Add tags",
    description: "Adds to the existing tags; a new name becomes a tag of the team. Returns all tags of the resource.",
    ability: "write",
    status: 201,
    input: TagAttach,
  })
    .output(z.array(Tag))
    .mutation(async ({ ctx, input: { uuid, ...sent } }) => [...(await ctx.control.tags.attach({ kind, uuid }, sent))]),

  detach: onResource(kind, {
    method: "DELETE",
    path: "/tags/{tag_uuid}",
    operationId: "delete-tag-by-{kind}-uuid",
    summary: "Remove a tag",
    description: "Removes it from this resource. A tag that no resource uses is deleted.",
    ability: "write",
    input: z.strictObject({ tag_uuid: z.string().describe("The tag's identifier.") }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, tag_uuid } }) => ctx.control.tags.detach({ kind, uuid }, tag_uuid)),
}));

export const tags = {
  list: operation({
    method: "GET",
    path: "/tags",
    operationId: "list-tags",
    tag: "System",
    summary: "List tags",
    description: "All tags that resources of the team have, by name.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Tag))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.tags.list(input), input)]),
};
