import { Message } from "@berth/core";
import { Destination, DestinationCreate, DestinationUpdate } from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The destination's identifier.");
const server = z.string().describe("The server's identifier.");

export const destinations = {
  list: operation({
    method: "GET",
    path: "/destinations",
    operationId: "list-destinations",
    tag: "Servers",
    summary: "List the destinations of all servers",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Destination))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.destinations.list(input), input)]),

  listOfServer: operation({
    method: "GET",
    path: "/servers/{uuid}/destinations",
    operationId: "list-server-destinations",
    tag: "Servers",
    summary: "List the destinations of a server",
    ability: "read",
  })
    .input(z.strictObject({ uuid: server, ...paging }))
    .output(z.array(Destination))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.destinations.listOfServer(uuid, page), page),
    ]),

  create: operation({
    method: "POST",
    path: "/servers/{uuid}/destinations",
    operationId: "create-server-destination",
    tag: "Servers",
    summary: "Add a destination to a server",
    description: "On a server with several destinations, name one by `destination_uuid` when you create a resource.",
    ability: "write",
    status: 201,
    errors: ["resource.already_exists", "resource.state"],
  })
    .input(DestinationCreate.extend({ uuid: server }))
    .output(Destination)
    .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.destinations.create(uuid, sent)),

  get: operation({
    method: "GET",
    path: "/destinations/{uuid}",
    operationId: "get-destination-by-uuid",
    tag: "Servers",
    summary: "Get a destination",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Destination)
    .query(({ ctx, input }) => ctx.control.destinations.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/destinations/{uuid}",
    operationId: "update-destination-by-uuid",
    tag: "Servers",
    summary: "Rename a destination",
    ability: "write",
  })
    .input(DestinationUpdate.extend({ uuid }))
    .output(Destination)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.destinations.update(uuid, change)),

  delete: operation({
    method: "DELETE",
    path: "/destinations/{uuid}",
    operationId: "delete-destination-by-uuid",
    tag: "Servers",
    summary: "Delete a destination",
    description: "Refused while resources use it.",
    ability: "write",
    errors: ["destination.in_use"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.destinations.delete(input.uuid)),
};
