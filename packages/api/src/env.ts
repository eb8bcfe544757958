import { CreatedUuid, Message } from "@berth/core";
import { EnvBulk, EnvCreate, EnvironmentVariable, EnvUpdate } from "@berth/core/env";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource, perKind } from "./per-kind.ts";

/** Answers to a creation, by kind: databases and services return the variable itself. */
const CREATED = { application: CreatedUuid, service: EnvironmentVariable, database: EnvironmentVariable } as const;

export const envs = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/envs",
    operationId: "list-envs-by-{kind}-uuid",
    summary: "List environment variables",
    description: "Values are returned only to tokens with `read:sensitive`.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(EnvironmentVariable))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.envs.list({ kind, uuid }, page), page),
    ]),

  create: onResource(kind, {
    method: "POST",
    path: "/envs",
    operationId: "create-env-by-{kind}-uuid",
    summary: "Create an environment variable",
    ability: "write",
    status: 201,
    errors: ["resource.already_exists"],
    input: EnvCreate,
  })
    .output(CREATED[kind])
    .mutation(({ ctx, input: { uuid, ...env } }) => ctx.control.envs.create({ kind, uuid }, env)),

  update: onResource(kind, {
    method: "PATCH",
    path: "/envs",
    operationId: "update-env-by-{kind}-uuid",
    summary: "Change an environment variable",
    description: "`key` (and `is_preview`) select the variable. Omitted fields keep their values.",
    ability: "write",
    status: 201,
    input: EnvUpdate,
  })
    .output(EnvironmentVariable)
    .mutation(({ ctx, input: { uuid, ...env } }) => ctx.control.envs.update({ kind, uuid }, env)),

  updateBulk: onResource(kind, {
    method: "PATCH",
    path: "/envs/bulk",
    operationId: "update-envs-by-{kind}-uuid",
    summary: "Create or change several environment variables",
    description: "Each is selected by its key. All of them are saved, or none.",
    ability: "write",
    status: 201,
    input: EnvBulk,
  })
    .output(z.array(EnvironmentVariable))
    .mutation(({ ctx, input: { uuid, ...bulk } }) => ctx.control.envs.updateBulk({ kind, uuid }, bulk)),

  delete: onResource(kind, {
    method: "DELETE",
    path: "/envs/{env_uuid}",
    operationId: "delete-env-by-{kind}-uuid",
    summary: "Delete an environment variable",
    ability: "write",
    input: z.strictObject({ env_uuid: z.string().describe("The variable's identifier.") }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, env_uuid } }) => ctx.control.envs.delete({ kind, uuid }, env_uuid)),
}));
