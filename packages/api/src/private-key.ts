import { CreatedUuid, Message } from "@berth/core";
import { PrivateKey, PrivateKeyCreate, PrivateKeyUpdate } from "@berth/core/source";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The key's identifier.");

export const privateKeys = {
  list: operation({
    method: "GET",
    path: "/security/keys",
    operationId: "list-private-keys",
    tag: "Private Keys",
    summary: "List private keys",
    description: "Private parts and passwords are returned only with the ability `read:sensitive`.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(PrivateKey))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.privateKeys.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/security/keys",
    operationId: "create-private-key",
    tag: "Private Keys",
    summary: "Create a private key",
    description: "A key can be stored once on the whole instance.",
    ability: "write",
    status: 201,
  })
    .input(PrivateKeyCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.privateKeys.create(input)),

  get: operation({
    method: "GET",
    path: "/security/keys/{uuid}",
    operationId: "get-private-key-by-uuid",
    tag: "Private Keys",
    summary: "Get a private key",
    description: "Private part and password are returned only with the ability `read:sensitive`.",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(PrivateKey)
    .query(({ ctx, input }) => ctx.control.privateKeys.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/security/keys/{uuid}",
    operationId: "update-private-key-by-uuid",
    tag: "Private Keys",
    summary: "Change a private key",
    description: "The key itself must always be sent.",
    ability: "write",
    status: 201,
  })
    .input(PrivateKeyUpdate.extend({ uuid }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid: id, ...change } }) => ctx.control.privateKeys.update(id, change)),

  updateSent: operation({
    method: "PATCH",
    path: "/security/keys",
    operationId: "update-private-key",
    tag: "Private Keys",
    summary: "Change a private key that is named in the body",
    description: "`uuid` selects the key; without it, the sent key itself does.",
    ability: "write",
    status: 201,
    errors: ["resource.not_found"],
  })
    .input(PrivateKeyUpdate.extend({ uuid: uuid.optional() }))
    .output(CreatedUuid)
    .mutation(({ ctx, input: { uuid: id, ...change } }) => ctx.control.privateKeys.update(id, change)),

  delete: operation({
    method: "DELETE",
    path: "/security/keys/{uuid}",
    operationId: "delete-private-key-by-uuid",
    tag: "Private Keys",
    summary: "Delete a private key",
    description: "Refused while a server, an application or a git source uses it.",
    ability: "write",
    errors: ["private_key.in_use"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.privateKeys.delete(input.uuid)),
};
