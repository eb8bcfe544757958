import { z } from "zod";
import type { ResourceRecord } from "../ports/records.ts";
import type { ServiceContainerRecord } from "../ports/service.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { RESOURCE_KINDS } from "../resource/resource.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

const SHARED = {
  id: z.int(),
  uuid: z.string(),
  mount_path: z.string(),
  is_preview_suffix_enabled: z.boolean().describe("Whether each preview deployment has a storage of its own."),
  resource_type: z
    .enum(["application", "service", "database"])
    .nullable()
    .describe("Kind of the resource that it is mounted into; for a service's container, whether that is a database."),
  resource_id: z.int().nullable(),
  resource_uuid: z.string().nullable().describe("The resource, or the service's container, that it is mounted into."),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const PersistentStorage = z
  .object({
    ...SHARED,
    name: z.string(),
    host_path: z.string().nullable().describe("Folder of the server that is mounted; null: a volume."),
    container_id: z.null().describe("Not used."),
  })
  .meta({ id: "PersistentStorage", description: "A folder that outlives deployments." });
export type PersistentStorage = z.infer<typeof PersistentStorage>;

export const FileStorage = z
  .object({
    ...SHARED,
    fs_path: z.string().describe("The server's folder; for a file, its path below the server's data folder."),
    content: z.string().nullable().optional().describe("Absent without read:sensitive. Null for a directory."),
    is_directory: z.boolean(),
    is_based_on_git: z.boolean(),
    chown: z.string().nullable(),
    chmod: z.string().nullable(),
  })
  .meta({ id: "FileStorage", description: "A file with content of its own, or a folder of the server." });
export type FileStorage = z.infer<typeof FileStorage>;

export const Storage = z.union([PersistentStorage, FileStorage]);
export type Storage = z.infer<typeof Storage>;

export const StorageList = z
  .object({ persistent_storages: z.array(PersistentStorage), file_storages: z.array(FileStorage) })
  .meta({ id: "StorageList", description: "The storages of a resource, each list by id." });
export type StorageList = z.infer<typeof StorageList>;

/** One of the containers of a resource that has several. */
export type StorageContainer = Pick<ServiceContainerRecord, "uuid" | "name" | "kind">;

export interface StorageViewOptions {
  readonly owner: Pick<ResourceRecord, "id" | "uuid" | "kind">;
  /** Present for a resource with several containers. */
  readonly containers: readonly StorageContainer[];
  readonly maySeeSecrets: boolean;
}

export function storageView(storage: StorageRecord, options: StorageViewOptions): Storage {
  const shared = { ...ownView(storage), ...resourceView(storage, options) };
  if (storage.type === "persistent") {
    return { ...shared, name: storage.name ?? storage.uuid, host_path: storage.host_path, container_id: null };
  }
  return {
    ...shared,
    fs_path: storage.fs_path ?? keptAt(storage, shared.resource_uuid ?? options.owner.uuid, options),
    ...(options.maySeeSecrets ? { content: storage.content } : {}),
    is_directory: storage.is_directory,
    is_based_on_git: false,
    chown: null,
    chmod: null,
  };
}

export const storageList = (storages: readonly Storage[]): StorageList => ({
  persistent_storages: storages.filter((storage) => "name" in storage),
  file_storages: storages.filter((storage) => "fs_path" in storage),
});

const ownView = ({ id, uuid, mount_path, is_preview_suffix_enabled, created_at, updated_at }: StorageRecord) => ({
  id,
  uuid,
  mount_path,
  is_preview_suffix_enabled,
  created_at: timestamp(created_at),
  updated_at: timestamp(updated_at),
});

function resourceView({ container }: StorageRecord, { owner, containers }: StorageViewOptions) {
  if (container === null) return { resource_type: owner.kind, resource_id: owner.id, resource_uuid: owner.uuid };
  const found = containers.find(({ name }) => name === container);
  return { resource_type: found?.kind ?? owner.kind, resource_id: owner.id, resource_uuid: found?.uuid ?? null };
}

const keptAt = ({ mount_path }: StorageRecord, uuid: string, { owner }: StorageViewOptions): string =>
  `${RESOURCE_KINDS[owner.kind].plural}/${uuid}${mount_path}`;
