import type { ReleaseSpec, ResourceRecord, SystemStores } from "@berth/core";

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
