import { DomainError } from "@berth/core";
import type { StorageMount, VolumeMount } from "@berth/core/deploy";
import { LABELS, type Labels, labelFilter, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

/** Named by uuid, which is unique; names of storages are not. */
export const volumeName = (storageUuid: string): string => `berth-${storageUuid}`;

export interface VolumeOwner {
  readonly server: string;
  readonly instance: string;
  readonly resourceUuid: string;
  /** The deployment that creates the volumes. */
  readonly deploymentUuid: string;
}

/** Definition of a volume with a driver or options. */
interface VolumeDefinition {
  readonly driver?: string;
  readonly driverOptions?: Readonly<Record<string, string>>;
  readonly labels?: Labels;
}

/**
 * Creates the volumes that do not exist yet.
 * @throws DomainError `deploy.start_failed` for a volume that held data and is missing, or that belongs to others
 */
export async function ensureVolumes(
  docker: Docker,
  mounts: readonly (StorageMount & VolumeDefinition)[],
  owner: VolumeOwner,
): Promise<void> {
  const volumes = mounts.filter((mount) => mount.type === "volume");
  for (const { uuid, name } of volumes) requireName(uuid, name);
  const labels = await Promise.all(volumes.map(({ uuid }) => labelsOf(docker, uuid)));
  // All volumes are checked before any is created.
  for (const [at, volume] of volumes.entries()) requireUsable(volume, labels[at], owner);
  for (const [at, { uuid, name, ...definition }] of volumes.entries()) {
    if (labels[at] !== undefined) continue;
    await docker.createVolume({
      Name: volumeName(uuid),
      Labels: { ...definition.labels, ...volumeLabels(uuid, name, owner) },
      ...(definition.driver === undefined ? {} : { Driver: definition.driver }),
      ...(definition.driverOptions === undefined ? {} : { DriverOpts: { ...definition.driverOptions } }),
    });
  }
}

/** The name in the compose file becomes a part of the volume's name and of a request path. */
function requireName(uuid: string, name: string): void {
  if (VOLUME_NAME.test(volumeName(uuid))) return;
  throw startFailed(`${name} is not a volume name: it may contain letters, digits, "_", "." and "-" only.`);
}

/** Names that the engine allows. */
const VOLUME_NAME = /^[A-Za-z0-9][\w.-]*$/;

function requireUsable({ uuid, name, isRecorded }: VolumeMount, labels: Labels | undefined, owner: VolumeOwner): void {
  const volume = volumeName(uuid);
  if (labels === undefined) {
    if (isRecorded !== true) return;
    const todo = `Restore it as the volume ${volume} and start again, or delete the storage and add it anew to begin with an empty one.`;
    throw startFailed(`The data of the storage ${name} is missing on server ${owner.server}. ${todo}`);
  }
  const isOurs = labels[LABELS.storage] === uuid && labels[LABELS.resource] === owner.resourceUuid;
  if (isOurs && labels[LABELS.instance] === owner.instance) return;
  throw startFailed(
    `The volume ${volume} of server ${owner.server} does not belong to the storage ${name}. Rename or remove it, then deploy again.`,
  );
}

const startFailed = (message: string) => new DomainError("deploy.start_failed", message);

const volumeLabels = (uuid: string, name: string, owner: VolumeOwner): Labels => ({
  ...ownedLabels(owner.instance),
  [LABELS.resource]: owner.resourceUuid,
  [LABELS.deployment]: owner.deploymentUuid,
  [LABELS.storage]: uuid,
  [LABELS.name]: name,
});

/** `undefined`: the volume does not exist. */
async function labelsOf(docker: Docker, uuid: string): Promise<Labels | undefined> {
  try {
    // Null for a volume that was created by hand.
    return (await docker.getVolume(volumeName(uuid)).inspect()).Labels ?? {};
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return undefined;
    throw cause;
  }
}

/** Removes the resource's volumes with these uuids, or all of them; volumes with other labels stay. */
export async function removeVolumes(
  docker: Docker,
  owner: Pick<VolumeOwner, "instance" | "resourceUuid">,
  uuids?: readonly string[],
): Promise<void> {
  for (const uuid of await volumesOf(docker, owner)) {
    if (uuids === undefined || uuids.includes(uuid)) await removeVolume(docker, volumeName(uuid));
  }
}

/** Uuids of the existing volumes of a resource, or of one deployment. */
export async function volumesOf(
  docker: Docker,
  {
    instance,
    resourceUuid,
    deploymentUuid,
  }: Pick<VolumeOwner, "instance" | "resourceUuid"> & Partial<Pick<VolumeOwner, "deploymentUuid">>,
): Promise<readonly string[]> {
  const filters = labelFilter({
    ...ownedLabels(instance),
    [LABELS.resource]: resourceUuid,
    ...(deploymentUuid === undefined ? {} : { [LABELS.deployment]: deploymentUuid }),
  });
  const { Volumes } = await docker.listVolumes({ filters: { ...filters } });
  // Null when there are no volumes.
  return (Volumes ?? []).flatMap(({ Name, Labels }) => {
    const uuid = Labels?.[LABELS.storage];
    return uuid === undefined || Name !== volumeName(uuid) ? [] : uuid;
  });
}

async function removeVolume(docker: Docker, name: string): Promise<void> {
  try {
    await docker.getVolume(name).remove();
  } catch (cause) {
    if (statusCodeOf(cause) !== 404) throw cause;
  }
}

/** Whether the engine has the volume of a storage. */
export const hasVolume = async (docker: Docker, storageUuid: string): Promise<boolean> =>
  (await labelsOf(docker, storageUuid)) !== undefined;
