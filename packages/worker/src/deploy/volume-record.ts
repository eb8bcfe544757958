import type { ApplicationRecord, ReleaseSpec, SystemStores } from "@berth/core";

/** From here on a start without one of these volumes is refused: it holds data that an empty one would hide. */
export async function recordVolumes(
  stores: SystemStores,
  { id, team_id }: Pick<ApplicationRecord, "id" | "team_id">,
  { storages }: ReleaseSpec,
): Promise<void> {
  const uuids = storages.flatMap((mount) => (mount.type === "volume" && mount.isRecorded !== true ? mount.uuid : []));
  if (uuids.length > 0) await stores.forTeam(team_id).storages.recordVolumes(id, uuids);
}
