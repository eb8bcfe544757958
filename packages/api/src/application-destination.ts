import { Message } from "@berth/core";
import { AttachedDestination, DestinationAttach } from "@berth/core/application";
import { z } from "zod";
import { onResource } from "./per-kind.ts";

/** The servers that one application is deployed to. */
export const applicationDestinations = {
  list: onResource("application", {
    method: "GET",
    path: "/destinations",
    operationId: "list-{kind}-destinations",
    summary: "List the destinations of an application",
    description: "The primary one first, each with the status on its server and the newest deployment there.",
    ability: "read",
  })
    .output(z.array(AttachedDestination))
    .query(async ({ ctx, input }) => [...(await ctx.control.applicationDestinations.list(input.uuid)).items]),

  attach: onResource("application", {
    method: "POST",
    path: "/destinations",
    operationId: "add-{kind}-destination",
    summary: "Deploy an application to another server too",
    description:
      "From its next deployment on: to the primary server first, then with the same commit to the others, one after the other. Refused for an application with data on its server.",
    ability: "write",
    status: 201,
    errors: ["destination.refused", "resource.state", "engine.unsupported"],
    input: DestinationAttach,
  })
    .output(z.object({ message: z.string(), uuid: z.string() }).meta({ id: "DestinationAttached" }))
    .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.applicationDestinations.attach(uuid, sent)),

  detach: onResource("application", {
    method: "DELETE",
    path: "/destinations/{destination_uuid}",
    operationId: "remove-{kind}-destination",
    summary: "Remove an application from one of its servers",
    description: "Ends its deployments there. What runs there is removed while the primary server runs it.",
    ability: "write",
    errors: ["destination.refused"],
    input: z.strictObject({ destination_uuid: z.string().describe("The destination's identifier.") }),
  })
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.applicationDestinations.detach(input.uuid, input.destination_uuid)),
};
