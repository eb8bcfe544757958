import { CreatedUuid, Message } from "@berth/core";
import { Application } from "@berth/core/application";
import { Attachment, DatabaseCollections } from "@berth/core/database";
import { Service } from "@berth/core/service";
import { Environment, EnvironmentCreate, EnvironmentSummary } from "@berth/core/team";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The project's identifier.");
const environment_name_or_uuid = z.string().describe("The environment's name, or its identifier.");

const EnvironmentContent = z
  .object({
    ...Environment.shape,
    applications: z.array(Application),
    services: z.array(Service),
    ...DatabaseCollections.shape,
  })
  .meta({ id: "EnvironmentContent", description: "An environment with its resources." });

export const environments = {
  list: operation({
    method: "GET",
    path: "/projects/{uuid}/environments",
    operationId: "get-environments",
    tag: "Projects",
    summary: "List the environments of a project",
    ability: "read",
  })
    .input(z.strictObject({ uuid, ...paging }))
    .output(z.array(EnvironmentSummary))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.environments.list(uuid, page), page),
    ]),

  create: operation({
    method: "POST",
    path: "/projects/{uuid}/environments",
    operationId: "create-environment",
    tag: "Projects",
    summary: "Create an environment",
    ability: "write",
    status: 201,
    errors: ["resource.already_exists"],
  })
    .input(EnvironmentCreate.extend({ uuid }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid, ...environment } }) => ctx.control.environments.create(uuid, environment)),

  get: operation({
    method: "GET",
    path: "/projects/{uuid}/{environment_name_or_uuid}",
    operationId: "get-environment-by-name-or-uuid",
    tag: "Projects",
    summary: "Get an environment with its resources",
    ability: "read",
    errors: ["answer.too_large"],
  })
    .input(z.strictObject({ uuid, environment_name_or_uuid }))
    .output(EnvironmentContent)
    .query(({ ctx, input }) => ctx.control.environments.get(input.uuid, input.environment_name_or_uuid)),

  attachments: operation({
    method: "GET",
    path: "/projects/{uuid}/environments/{environment_name_or_uuid}/attachments",
    operationId: "list-attachments-by-environment",
    tag: "Projects",
    summary: "List which resources of an environment use which databases",
    description: "By variables that name a database, such as `{{ database.shop.url }}` or `{{ database.shop.host }}`.",
    ability: "read",
  })
    .input(z.strictObject({ uuid, environment_name_or_uuid, ...paging }))
    .output(z.array(Attachment))
    .query(async ({ ctx, input: { uuid, environment_name_or_uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.attachments.listByEnvironment(uuid, environment_name_or_uuid, page), page),
    ]),

  delete: operation({
    method: "DELETE",
    path: "/projects/{uuid}/environments/{environment_name_or_uuid}",
    operationId: "delete-environment",
    tag: "Projects",
    summary: "Delete an environment",
    description: "Refused while it has resources.",
    ability: "write",
    errors: ["resource.in_use"],
  })
    .input(z.strictObject({ uuid, environment_name_or_uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.environments.delete(input.uuid, input.environment_name_or_uuid)),
};
