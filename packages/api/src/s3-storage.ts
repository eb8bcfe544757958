import { ChangedCredential, CreatedUuid, Message } from "@berth/core";
import { S3Storage, S3StorageCreate, S3StorageUpdate, S3StorageValidity } from "@berth/core/backup";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The S3 storage's identifier.");

export const s3Storages = {
  list: operation({
    method: "GET",
    path: "/s3-storages",
    operationId: "list-s3-storages",
    tag: "S3 storages",
    summary: "List S3 storages",
    description: "Keys are returned only to tokens with `read:sensitive`.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(S3Storage))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.s3Storages.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/s3-storages",
    operationId: "create-s3-storage",
    example: {
      name: "backups",
      endpoint: "https://s3.example.com",
      bucket: "berth",
      region: "eu",
      key: "AKIA",
      secret: "secret",
    },
    tag: "S3 storages",
    summary: "Create an S3 storage",
    ability: "write",
    status: 201,
  })
    .input(S3StorageCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.s3Storages.create(input)),

  get: operation({
    method: "GET",
    path: "/s3-storages/{uuid}",
    operationId: "get-s3-storage-by-uuid",
    tag: "S3 storages",
    summary: "Get an S3 storage",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(S3Storage)
    .query(({ ctx, input }) => ctx.control.s3Storages.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/s3-storages/{uuid}",
    operationId: "update-s3-storage-by-uuid",
    tag: "S3 storages",
    summary: "Change an S3 storage",
    description:
      "Omitted fields keep their values. With a new endpoint, key and secret are removed unless both are sent too.",
    ability: "write",
  })
    .input(S3StorageUpdate.extend({ uuid }))
    .output(ChangedCredential)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.s3Storages.update(uuid, change)),

  validate: operation({
    method: "POST",
    path: "/s3-storages/{uuid}/validate",
    operationId: "validate-s3-storage-by-uuid",
    tag: "S3 storages",
    summary: "Test an S3 storage",
    description:
      "Writes an object, reads it back and deletes it. A storage that fails one of them is not an error: `valid` is false, and " +
      "`message` says why. The result is stored in `is_usable`.",
    ability: "write",
  })
    .input(z.strictObject({ uuid }))
    .output(S3StorageValidity)
    .mutation(({ ctx, input }) => ctx.control.s3Storages.validate(input.uuid)),

  delete: operation({
    method: "DELETE",
    path: "/s3-storages/{uuid}",
    operationId: "delete-s3-storage-by-uuid",
    tag: "S3 storages",
    summary: "Delete an S3 storage",
    description: "Refused while backups use it.",
    ability: "write",
    errors: ["resource.in_use"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.s3Storages.delete(input.uuid)),
};
