import { storageOf } from "../application/preview.ts";
import type { StorageRecord } from "../ports/storage.ts";
import type { StorageMount } from "./storage-mount.ts";

/** Outer paths first. A preview has its own copies of storages that it does not share. */
export const mountsOf = (
  resourceUuid: string,
  storages: readonly StorageRecord[],
  pullRequestId: number,
): readonly StorageMount[] =>
  storages
    .map((storage) => {
      const own = storageOf(storage, pullRequestId);
      // A preview's own storage is created and removed with the preview.
      return mountOf(resourceUuid, own.uuid === storage.uuid ? own : { ...own, has_volume: false });
    })
    .sort((a, b) => (a.mountPath < b.mountPath ? -1 : Number(a.mountPath > b.mountPath)));

function mountOf(resourceUuid: string, storage: StorageRecord): StorageMount {
  const { uuid, name, type, mount_path, host_path, fs_path, content } = storage;
  const { is_directory, is_read_only, has_volume } = storage;
  const hostPath = host_path ?? (is_directory ? fs_path : null);
  const mount = {
    uuid,
    name: labelOf(resourceUuid, name) ?? mount_path.slice(1),
    mountPath: mount_path,
    ...(is_read_only ? { isReadOnly: true } : {}),
  };
  if (hostPath !== null) return { ...mount, type: "folder", hostPath };
  if (type === "file") return { ...mount, type: "file", content: content ?? "" };
  return { ...mount, type: "volume", ...(has_volume ? { isRecorded: true } : {}) };
}

/** The name that the owner chose, without the resource's uuid before it. */
const labelOf = (resourceUuid: string, name: string | null): string | null =>
  name?.startsWith(`${resourceUuid}-`) ? name.slice(resourceUuid.length + 1) : name;
