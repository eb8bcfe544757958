import type { StorageFields } from "../ports/storage.ts";
import { slug } from "../slug.ts";
import { normalPath } from "../storage/storage-input.ts";
import { isExternal } from "./flag.ts";
import type { ComposeContainer } from "./parse.ts";
import type { ComposeDocument } from "./schema.ts";
import type { ComposeVolume } from "./volume.ts";

/** The storages that a compose file defines. They can be changed in the file only. */
export function composeStorages(
  { containers, document }: { readonly containers: readonly ComposeContainer[]; readonly document: ComposeDocument },
  serviceUuid: string,
): readonly StorageFields[] {
  return containers.flatMap(({ name, volumes }) => {
    // A later mount hides an earlier one at the same path.
    const byPath = new Map(volumes.map((volume) => [normalPath(volume.mountPath), volume]));
    return [...byPath].map(([mountPath, volume]) => ({
      ...placeOf(volume, document, serviceUuid),
      mount_path: mountPath,
      container: name,
      is_preview_suffix_enabled: true,
      is_managed: true,
      is_read_only: volume.isReadOnly,
    }));
  });
}

type StorageOrigin = Pick<StorageFields, "type" | "name" | "host_path" | "fs_path" | "content" | "is_directory">;

function placeOf(volume: ComposeVolume, document: ComposeDocument, serviceUuid: string): StorageOrigin {
  const none = { name: null, host_path: null, fs_path: null, content: null, is_directory: false };
  const { name, hostPath, content, isDirectory } = volume;
  if (content !== null) return { ...none, type: "file", fs_path: hostPath, content };
  if (isDirectory) return { ...none, type: "file", fs_path: hostPath, is_directory: true };
  if (name !== null) return { ...none, type: "persistent", name: volumeName(name, document, serviceUuid) };
  return {
    ...none,
    type: "persistent",
    name: `${serviceUuid}_${slug(hostPath ?? "") || "folder"}`,
    host_path: hostPath,
  };
}

/**
 * Name of the volume on the server: prefixed by the service's uuid, unless the file names it or declares it external.
 */
export function volumeName(name: string, { volumes }: ComposeDocument, serviceUuid: string): string {
  const defined = volumes?.[name];
  if (defined?.name) return defined.name;
  return isExternal(defined) ? name : `${serviceUuid}_${name}`;
}
