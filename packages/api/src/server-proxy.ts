import { JobStarted, ServerProxyDetails, ServerProxyUpdate } from "@berth/core/server";
import { z } from "zod";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The server's identifier.");
const REFUSALS = ["engine.unsupported", "resource.state"] as const;

export const serverProxies = {
  get: operation({
    method: "GET",
    path: "/servers/{uuid}/proxy",
    operationId: "get-server-proxy",
    tag: "Servers",
    summary: "Get the proxy of a server",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(ServerProxyDetails)
    .query(({ ctx, input }) => ctx.control.serverProxies.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/servers/{uuid}/proxy",
    operationId: "update-server-proxy",
    tag: "Servers",
    summary: "Change the proxy of a server",
    description:
      "A proxy of another type takes over the routes of the previous one, which serves until the new one is seen " +
      "serving, and stays if the new one fails: `problem` says why. A stopped proxy stays stopped.",
    ability: "write",
    errors: [...REFUSALS, "resource.in_use"],
  })
    .input(ServerProxyUpdate.extend({ uuid }))
    .output(ServerProxyDetails)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.serverProxies.update(uuid, change)),

  start: operation({
    method: "POST",
    path: "/servers/{uuid}/proxy/start",
    operationId: "start-server-proxy",
    tag: "Servers",
    summary: "Start the proxy of a server",
    description: "With the routes of all deployed resources, also of those deployed while it was stopped.",
    ability: "write",
    errors: [...REFUSALS],
  })
    .input(z.strictObject({ uuid }))
    .output(JobStarted)
    .mutation(({ ctx, input }) => ctx.control.serverProxies.start(input.uuid)),

  stop: operation({
    method: "POST",
    path: "/servers/{uuid}/proxy/stop",
    operationId: "stop-server-proxy",
    tag: "Servers",
    summary: "Stop the proxy of a server",
    description:
      "No URL of the server answers until the proxy is started again: neither a deployment nor a restart of Berth " +
      "starts it. Applications keep running.",
    ability: "write",
    errors: [...REFUSALS],
  })
    .input(z.strictObject({ uuid }))
    .output(JobStarted)
    .mutation(({ ctx, input }) => ctx.control.serverProxies.stop(input.uuid)),

  restart: operation({
    method: "POST",
    path: "/servers/{uuid}/proxy/restart",
    operationId: "restart-server-proxy",
    tag: "Servers",
    summary: "Restart the proxy of a server",
    description:
      "Its container is recreated and replaces the previous one once it serves. Requests that last more than five " +
      "seconds longer are cut. A stopped proxy is started.",
    ability: "write",
    errors: [...REFUSALS],
  })
    .input(z.strictObject({ uuid }))
    .output(JobStarted)
    .mutation(({ ctx, input }) => ctx.control.serverProxies.restart(input.uuid)),
};
