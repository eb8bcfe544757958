import { type ErrorCode, Message } from "@berth/core";
import type { ResourceKind } from "@berth/core/resource";
import {
  ContainerStorageCreate,
  Storage,
  StorageCreate,
  StorageList,
  StorageUpdate,
  storageList,
} from "@berth/core/storage";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { OPERATOR } from "./operation-options.ts";
import { onResource, perKind } from "./per-kind.ts";

const CREATE = {
  method: "POST",
  path: "/storages",
  operationId: "create-storage-by-{kind}-uuid",
  summary: "Create a storage",
  description:
    "A persistent storage is a folder that outlives deployments; a file has the sent content. It is mounted from " +
    "the next deployment or start on.",
  ability: "write",
  extras: [OPERATOR.folder],
  status: 201,
  errors: ["engine.unreachable"] satisfies ErrorCode[],
} as const;

/** A service has several containers, so the request must name one. */
const create = {
  ...perKind(["application", "database"], (kind) => ({
    create: onResource(kind, { ...CREATE, input: StorageCreate })
      .output(Storage)
      .mutation(({ ctx, input: { uuid, ...storage } }) => ctx.control.storages.create({ kind, uuid }, storage)),
  })),
  service: {
    create: onResource("service", { ...CREATE, input: ContainerStorageCreate })
      .output(Storage)
      .mutation(({ ctx, input: { uuid, resource_uuid, ...storage } }) =>
        ctx.control.storages.create({ kind: "service", uuid }, storage, resource_uuid),
      ),
  },
} satisfies Record<ResourceKind, object>;

const others = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/storages",
    operationId: "list-storages-by-{kind}-uuid",
    summary: "List storages",
    description: "Persistent storages, then files, whose content is returned only to tokens with `read:sensitive`.",
    ability: "read",
    input: z.strictObject(paging),
    errors: ["answer.too_large"],
  })
    .output(StorageList)
    .query(async ({ ctx, input: { uuid, ...page } }) =>
      storageList(listed(ctx, await ctx.control.storages.list({ kind, uuid }, page), page)),
    ),

  update: onResource(kind, {
    method: "PATCH",
    path: "/storages",
    operationId: "update-storage-by-{kind}-uuid",
    summary: "Change a storage",
    description:
      "Omitted fields keep their values. Of a storage that a compose file or a service defines, only " +
      "`is_preview_suffix_enabled` can be changed: the error lists other fields in `read_only_fields`.",
    ability: "write",
    extras: [OPERATOR.folder],
    pathKeys: { uuid: "owner_uuid" },
    errors: ["engine.unreachable"],
    example: { uuid: "x530s5chcn08g4ovgxmarfo6", name: "uploads" },
    input: StorageUpdate,
  })
    .output(Storage)
    .mutation(({ ctx, input: { owner_uuid, ...change } }) =>
      ctx.control.storages.update({ kind, uuid: owner_uuid }, change),
    ),

  delete: onResource(kind, {
    method: "DELETE",
    path: "/storages/{storage_uuid}",
    operationId: "delete-storage-by-{kind}-uuid",
    summary: "Delete a storage",
    description: "It is no longer mounted from the next deployment on. Its data is kept until the resource is deleted.",
    ability: "write",
    input: z.strictObject({ storage_uuid: z.string().describe("The storage's identifier.") }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, storage_uuid } }) => ctx.control.storages.delete({ kind, uuid }, storage_uuid)),
}));

// Written out, so that each kind has the input of its own creation for typed clients.
export const storages = {
  application: { ...create.application, ...others.application },
  service: { ...create.service, ...others.service },
  database: { ...create.database, ...others.database },
};
