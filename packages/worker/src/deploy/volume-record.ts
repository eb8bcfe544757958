import type { Engine, ReleaseSpec, ResourceRecord, StorageRecord, SystemStores } from "@berth/core";

/** From here on a start without one of these volumes is refused: it holds data that an empty one would hide. */
export async function recordVolumes(
  stores: SystemStores,
  { id, team_id }: Pick<ResourceRecord, "id" | "team_id">,
  { storages, stack }: ReleaseSpec,
): Promise<void> {
  const mounts = [...storages, ...Object.values(stack?.containers ?? {}).flatMap((container) => container.storages)];
  const uuids = mounts.flatMap((mount) =>
    mount.type === "volume" && mount.isRecorded !== true ? (mount.storageUuid ?? mount.uuid) : [],
  );
  if (uuids.length > 0) await stores.forTeam(team_id).storages.recordVolumes(id, uuids);
}

/** Removes what a run has kept that never came to be live: the next one begins with nothing. */
export async function forgetVolumes(
  { stores, engine }: { readonly stores: SystemStores; readonly engine: Pick<Engine, "removeVolumes"> },
  { id, team_id, uuid }: Pick<ResourceRecord, "id" | "team_id" | "uuid">,
  storages: readonly StorageRecord[],
): Promise<void> {
  const own = storages.filter(({ is_managed }) => is_managed);
  await engine.removeVolumes(
    uuid,
    own.map((storage) => ({ uuid: storage.uuid, name: storage.name ?? "" })),
  );
  const uuids = own.map((storage) => storage.uuid);
  await stores.forTeam(team_id).storages.recordVolumes(id, uuids, false);
}
