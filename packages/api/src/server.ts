import { CreatedUuid, Server, ServerResource, ServerUpdate } from "@berth/core";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The server's identifier.");

export const servers = {
  list: operation({
    method: "GET",
    path: "/servers",
    operationId: "list-servers",
    tag: "Servers",
    summary: "List servers",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Server))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.servers.list(input), input)]),

  get: operation({
    method: "GET",
    path: "/servers/{uuid}",
    operationId: "get-server-by-uuid",
    tag: "Servers",
    summary: "Get a server",
    ability: "read",
  })
    .input(z.strictObject({ uuid, resources: z.boolean().optional().describe("With the resources on it.") }))
    .output(Server)
    .query(({ ctx, input: { uuid, resources } }) => ctx.control.servers.get(uuid, { resources })),

  update: operation({
    method: "PATCH",
    path: "/servers/{uuid}",
    operationId: "update-server-by-uuid",
    tag: "Servers",
    summary: "Change a server and its settings",
    description: "A new deployment_queue_limit or concurrent_builds holds from the next deployment on.",
    ability: "write",
    status: 201,
    errors: ["engine.unsupported"],
  })
    .input(ServerUpdate.extend({ uuid }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.servers.update(uuid, change)),

  resources: operation({
    method: "GET",
    path: "/servers/{uuid}/resources",
    operationId: "get-resources-by-server-uuid",
    tag: "Servers",
    summary: "List the resources of a server",
    ability: "read",
  })
    .input(z.strictObject({ uuid, ...paging }))
    .output(z.array(ServerResource))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.servers.resources(uuid, page), page),
    ]),
};
