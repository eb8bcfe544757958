import type { ReleaseSpec } from "@berth/core/deploy";
import type { Engine, ResourceRecord, StorageRecord, SystemStores } from "@berth/core/ports";
import type { DeployContext } from "./context.ts";

/**
 * Records that these volumes hold data: a start without one of them is then refused, since an empty volume would hide
 * the loss.
 */
export async function recordVolumes(
  stores: SystemStores,
  { id, team_id }: Pick<ResourceRecord, "id" | "team_id">,
  { storages, stack }: ReleaseSpec,
): Promise<void> {
  const uuids = volumesIn({ storages, stack }).flatMap((mount) =>
    mount.isRecorded === true ? [] : (mount.storageUuid ?? mount.uuid),
  );
  if (uuids.length > 0) await stores.forTeam(team_id).storages.recordVolumes(id, uuids);
}

const volumesIn = ({ storages, stack }: Pick<ReleaseSpec, "storages" | "stack">) =>
  [...storages, ...Object.values(stack?.containers ?? {}).flatMap((container) => container.storages)].filter(
    (mount) => mount.type === "volume",
  );

/**
 * Removes the volumes that a cancelled deployment created: their content is incomplete, and older data is not in them.
 * A failed deployment keeps them, since the next attempt may continue with them.
 */
export async function forgetMadeVolumes(ctx: DeployContext): Promise<void> {
  const { stores, adapters, ref, kind, subject, deployment } = ctx;
  const candidate = await stores.releases.find(deployment.id);
  const made = await adapters.engine.volumesOf(ref);
  if (candidate === undefined || made.length === 0) return;
  const volumes = volumesIn(kind.releaseSpec(ctx, candidate.artifact)).filter(({ uuid }) => made.includes(uuid));
  const { id, team_id } = subject.record;
  // Unrecorded first: a start is refused while a recorded volume is missing.
  const recorded = volumes.map((mount) => mount.storageUuid ?? mount.uuid);
  await stores.forTeam(team_id).storages.recordVolumes(id, recorded, false);
  await adapters.engine.removeVolumes(ref.resourceUuid, volumes);
}

/** Removes the volumes of a resource whose first release never became live, so that the next one starts empty. */
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
