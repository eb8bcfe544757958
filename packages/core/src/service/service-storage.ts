import type { StorageFields, StorageRecord } from "../ports/storage.ts";

export interface StoragePlan {
  readonly insert: readonly StorageFields[];
  readonly update: readonly { readonly uuid: string; readonly change: Partial<StorageFields> }[];
  /** Uuids. */
  readonly delete: readonly string[];
}

/**
 * The changes of a service's storages for a new compose file. A storage stays while its container and its name in it
 * do. Storages added by users stay too, unless their container is removed.
 */
export function planStorages(
  wanted: readonly StorageFields[],
  existing: readonly StorageRecord[],
  containers: readonly string[],
): StoragePlan {
  const placeOf = ({ container, mount_path }: StorageFields) => `${container}:${mount_path}`;
  const known = new Map(existing.map((storage) => [placeOf(storage), storage]));
  const places = new Set(wanted.map(placeOf));
  const isGone = (storage: StorageRecord) =>
    !places.has(placeOf(storage)) && (storage.is_managed || !containers.includes(storage.container ?? ""));
  return {
    insert: wanted.filter((storage) => !known.has(placeOf(storage))),
    update: wanted.flatMap((storage) => {
      const current = known.get(placeOf(storage));
      // Whether previews have their own storages is set by users, not by the compose file.
      const { is_preview_suffix_enabled: _, ...change } = storage;
      return current === undefined || isSame(current, change) ? [] : [{ uuid: current.uuid, change }];
    }),
    delete: existing.filter(isGone).map(({ uuid }) => uuid),
  };
}

const isSame = (current: StorageRecord, change: Partial<StorageFields>): boolean =>
  // The keys are those of a storage.
  Object.entries(change).every(([key, value]) => current[key as keyof StorageFields] === value);
