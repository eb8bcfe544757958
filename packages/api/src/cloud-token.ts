import { CreatedUuid, Message } from "@berth/core";
import { CloudToken, CloudTokenCreate, CloudTokenUpdate, CloudTokenValidity } from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The cloud token's identifier.");

export const cloudTokens = {
  list: operation({
    method: "GET",
    path: "/cloud-tokens",
    operationId: "list-cloud-tokens",
    tag: "Cloud Tokens",
    summary: "List cloud tokens",
    description: "Without the tokens themselves, which are never shown again.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(CloudToken))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.cloudTokens.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/cloud-tokens",
    operationId: "create-cloud-token",
    tag: "Cloud Tokens",
    summary: "Add a cloud token",
    description: "The token is checked with the provider, and stored encrypted.",
    ability: "write",
    status: 201,
    errors: ["cloud.refused", "cloud.rate_limited", "cloud.failed"],
  })
    .input(CloudTokenCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.cloudTokens.create(input)),

  get: operation({
    method: "GET",
    path: "/cloud-tokens/{uuid}",
    operationId: "get-cloud-token-by-uuid",
    tag: "Cloud Tokens",
    summary: "Get a cloud token",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(CloudToken)
    .query(({ ctx, input }) => ctx.control.cloudTokens.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/cloud-tokens/{uuid}",
    operationId: "update-cloud-token-by-uuid",
    tag: "Cloud Tokens",
    summary: "Rename a cloud token",
    description: "Only the name can be changed: add another token for another login.",
    ability: "write",
  })
    .input(CloudTokenUpdate.extend({ uuid }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.cloudTokens.update(uuid, change)),

  delete: operation({
    method: "DELETE",
    path: "/cloud-tokens/{uuid}",
    operationId: "delete-cloud-token-by-uuid",
    tag: "Cloud Tokens",
    summary: "Delete a cloud token",
    description: "Refused while servers exist that were created with it. The token stays valid at the provider.",
    ability: "write",
    errors: ["resource.in_use"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.cloudTokens.delete(input.uuid)),

  validate: operation({
    method: "POST",
    path: "/cloud-tokens/{uuid}/validate",
    operationId: "validate-cloud-token-by-uuid",
    tag: "Cloud Tokens",
    summary: "Ask the provider whether a cloud token works",
    description: "An invalid token is not an error: `valid` is then false.",
    ability: "write",
    errors: ["cloud.rate_limited", "cloud.failed"],
  })
    .input(z.strictObject({ uuid }))
    .output(CloudTokenValidity)
    .mutation(({ ctx, input }) => ctx.control.cloudTokens.validate(input.uuid)),
};
