import { CreatedUuid } from "@berth/core";
import {
  CleanupStarted,
  JobStarted,
  Server,
  ServerCleanup,
  ServerCreate,
  ServerDomains,
  ServerResource,
  ServerUpdate,
  ServerValidate,
} from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { metrics } from "./metric.ts";
import { operation } from "./operation.ts";
import { OPERATOR } from "./operation-options.ts";

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

  create: operation({
    method: "POST",
    path: "/servers",
    operationId: "create-server",
    tag: "Servers",
    summary: "Add a server",
    description:
      "Adds a machine that is reached by SSH, with settings and one destination. Validate it before its first use: " +
      "that records its host key and reports what is missing.",
    ability: "write",
    extras: [OPERATOR.address],
    status: 201,
    errors: ["resource.not_found", "resource.in_use", "resource.state"],
  })
    .input(ServerCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.servers.create(input)),

  validate: operation({
    method: "POST",
    path: "/servers/{uuid}/validate",
    operationId: "validate-server-by-uuid",
    tag: "Servers",
    summary: "Validate a server",
    description:
      "Answers at once. The result is in `validation_logs`, and in `is_reachable` and `is_usable` of the settings; " +
      "the job fails if the server is not usable. With `install_engine`, Docker is installed on a Debian or " +
      "Ubuntu server first; its output is in the `log` of the job.",
    ability: "write",
    status: 201,
    alsoByGet: true,
    errors: ["engine.unsupported", "resource.state"],
  })
    .input(ServerValidate.extend({ uuid }))
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid, ...options } }) => ctx.control.servers.validate(uuid, options)),

  cleanUp: operation({
    method: "POST",
    path: "/servers/{uuid}/cleanup",
    operationId: "cleanup-server-by-uuid",
    tag: "Servers",
    summary: "Clean up a server",
    description:
      "Removes what Berth has created there and no longer needs: images that no deployment runs or keeps for a " +
      "rollback and, if the server's settings say so, volumes and networks of deleted resources. What is recorded, " +
      "in use or not Berth's own is always kept. With `dry_run` it only returns what would be removed.",
    ability: "write",
    errors: ["engine.unsupported", "engine.unreachable", "resource.state"],
  })
    .input(z.strictObject({ uuid, ...ServerCleanup.shape }))
    .output(CleanupStarted)
    .mutation(({ ctx, input: { uuid, ...options } }) => ctx.control.cleanups.cleanUp(uuid, options)),

  delete: operation({
    method: "DELETE",
    path: "/servers/{uuid}",
    operationId: "delete-server-by-uuid",
    tag: "Servers",
    summary: "Delete a server",
    description:
      "Refused while it has resources. With `force=true` every resource on it is queued for deletion first, and the " +
      "server is deleted after the last one. The machine itself is kept, even if it was rented for the server.",
    ability: "write",
    errors: ["resource.in_use"],
  })
    .input(z.strictObject({ uuid, force: z.boolean().optional().describe("With all resources on it. Default false.") }))
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid, force } }) => ctx.control.servers.delete(uuid, { force })),

  domains: operation({
    method: "GET",
    path: "/servers/{uuid}/domains",
    operationId: "get-domains-by-server-uuid",
    tag: "Servers",
    summary: "List the domains of a server",
    description: "The host names of its resources. With `uuid` in the query, the URLs of that application.",
    ability: "read",
    pathKeys: { uuid: "server_uuid" },
  })
    .input(
      z.strictObject({
        server_uuid: uuid,
        uuid: z.string().optional().describe("An application on the server: the answer is a list of its URLs."),
        ...paging,
      }),
    )
    .output(z.array(z.union([ServerDomains, z.string()])))
    .query(async ({ ctx, input: { server_uuid, uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.servers.domains(server_uuid, uuid, page), page),
    ]),

  update: operation({
    method: "PATCH",
    path: "/servers/{uuid}",
    operationId: "update-server-by-uuid",
    tag: "Servers",
    summary: "Change a server and its settings",
    description: "A new deployment_queue_limit or concurrent_builds applies from the next deployment on.",
    ability: "write",
    extras: [OPERATOR.address],
    status: 201,
    errors: ["engine.unsupported", "resource.in_use", "resource.state"],
  })
    .input(ServerUpdate.extend({ uuid }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.servers.update(uuid, change)),

  metrics: metrics.server,

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
