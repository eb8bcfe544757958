import { ChangedCredential, CreatedUuid, Message } from "@berth/core";
import { Registry, RegistryCreate, RegistryUpdate } from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The registry's identifier.");

export const registries = {
  list: operation({
    method: "GET",
    path: "/registries",
    operationId: "list-registries",
    tag: "Registries",
    summary: "List registries",
    description: "Passwords are returned only to tokens with `read:sensitive`.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Registry))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.registries.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/registries",
    operationId: "create-registry",
    tag: "Registries",
    summary: "Add a registry",
    description: "A login for the images of one registry. All servers of the team pull, build and push with it.",
    ability: "write",
    status: 201,
    errors: ["resource.already_exists"],
  })
    .input(RegistryCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.registries.create(input)),

  get: operation({
    method: "GET",
    path: "/registries/{uuid}",
    operationId: "get-registry-by-uuid",
    tag: "Registries",
    summary: "Get a registry",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Registry)
    .query(({ ctx, input }) => ctx.control.registries.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/registries/{uuid}",
    operationId: "update-registry-by-uuid",
    tag: "Registries",
    summary: "Change a registry",
    description: "Omitted fields keep their values. With a new address, the password is removed unless it is sent too.",
    ability: "write",
    errors: ["resource.already_exists"],
  })
    .input(RegistryUpdate.extend({ uuid }))
    .output(ChangedCredential)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.registries.update(uuid, change)),

  delete: operation({
    method: "DELETE",
    path: "/registries/{uuid}",
    operationId: "delete-registry-by-uuid",
    tag: "Registries",
    summary: "Delete a registry",
    description: "Images on servers stay there; they are no longer pulled with this login.",
    ability: "write",
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.registries.delete(input.uuid)),
};
