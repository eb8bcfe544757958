import { LogDrains, LogDrainsUpdate } from "@berth/core/server";
import { z } from "zod";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The server's identifier.");

export const logDrains = {
  get: operation({
    method: "GET",
    path: "/servers/{uuid}/log-drains",
    operationId: "get-server-log-drains",
    tag: "Servers",
    summary: "Get the log drains of a server",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(LogDrains)
    .query(({ ctx, input }) => ctx.control.logDrains.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/servers/{uuid}/log-drains",
    operationId: "update-server-log-drains",
    tag: "Servers",
    summary: "Change the log drains of a server",
    description:
      "Lines that resources with `is_log_drain_enabled` print from now on are delivered, in their order. A failed " +
      "delivery is tried again until it is accepted: `problem` says why it failed.",
    ability: "write",
    errors: ["resource.state"],
  })
    .input(LogDrainsUpdate.extend({ uuid }))
    .output(LogDrains)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.logDrains.update(uuid, change)),
};
