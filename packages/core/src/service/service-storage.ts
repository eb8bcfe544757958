import type { StorageFields, StorageRecord } from "../ports/storage.ts";

export interface StoragePlan {
  readonly insert: readonly StorageFields[];
  readonly update: readonly { readonly uuid: string; readonly change: Partial<StorageFields> }[];
  /** Uuids. */
  readonly delete: readonly string[];
}

/**
 * What becomes of a service's storages when its compose text names these: one stays the same while its container and
 * its place in it do. What users added stays too, unless its container is gone.
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
      // Previews have their own storages or not, as the user says.
      const { is_preview_suffix_enabled: _, ...change } = storage;
      return current === undefined || isSame(current, change) ? [] : [{ uuid: current.uuid, change }];
    }),
    delete: existing.filter(isGone).map(({ uuid }) => uuid),
  };
}

const isSame = (current: StorageRecord, change: Partial<StorageFields>): boolean =>
  // The keys are those of a storage.
  Object.entries(change).every(([key, value]) => current[key as keyof StorageFields] === value);
