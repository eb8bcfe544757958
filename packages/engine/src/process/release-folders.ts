import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { endGroup, pidsOfUser } from "@berth/host";
import { removeFolder } from "./folder-removal.ts";
import { filesFolder, isUuid, releaseFolder, resourcePaths, runPaths, storageFolder } from "./paths.ts";
import { isOwnUid, type ReleaseHost } from "./settings.ts";
import type { SupervisedRelease } from "./supervisor.ts";

/** Every release with a run folder, even if its other folders are missing. */
export async function findReleases(dataFolder: string): Promise<ReleaseRef[]> {
  const refs: ReleaseRef[] = [];
  for (const resourceUuid of (await names(dataFolder)).filter(isUuid)) {
    const deployments = await names(resourcePaths(dataFolder, resourceUuid).run);
    refs.push(...deployments.filter(isUuid).map((deploymentUuid) => ({ resourceUuid, deploymentUuid })));
  }
  return refs;
}

/**
 * Removes the folders of a release, its run folder last, so that an interrupted removal is repeated. A folder that
 * another release also runs from (same build, other settings) is kept until that one is removed.
 */
export async function removeReleaseFolders(
  dataFolder: string,
  ref: ReleaseRef,
  releases: ReadonlyMap<string, SupervisedRelease>,
): Promise<void> {
  const siblings = [...releases.values()].map((release) => release.spec).filter((spec) => isSibling(spec, ref));
  const isUsed = (folder: string) => siblings.some((spec) => usedFolder(spec) === folder);
  const own = releaseFolder(dataFolder, ref);
  if (!isUsed(own)) await removeFolder(dataFolder, own);

  const spec = releases.get(ref.deploymentUuid)?.spec;
  const borrowed = spec === undefined ? undefined : usedFolder(spec);
  const { releases: parent } = resourcePaths(dataFolder, ref.resourceUuid);
  if (borrowed !== undefined && borrowed !== own && dirname(borrowed) === parent && !isUsed(borrowed)) {
    const builders = siblings.map((sibling) => join(parent, sibling.deploymentUuid));
    if (!builders.includes(borrowed)) await removeFolder(dataFolder, borrowed);
  }
  await removeFolder(dataFolder, filesFolder(resourcePaths(dataFolder, ref.resourceUuid), ref.deploymentUuid));
  await removeFolder(dataFolder, runPaths(dataFolder, ref).folder);
}

/** Ends processes that still run as the resource's user after its releases were removed, such as daemons of a build. */
export async function endLeftovers({ dataFolder, settings }: ReleaseHost, resourceUuid: string): Promise<void> {
  // Its parent folder is ours, so the user cannot have replaced it.
  const home = await lstat(resourcePaths(dataFolder, resourceUuid).home).catch(() => undefined);
  if (home === undefined || !isOwnUid(settings, home.uid)) return;
  const { uid } = home;
  await endGroup({ others: () => pidsOfUser(uid) }, LEFTOVER_GRACE_SECONDS);
}

const LEFTOVER_GRACE_SECONDS = 1;

/** Removes the folders that a resource's releases share, and the resource's own folder when it is empty. */
export async function removeResourceFolders(
  dataFolder: string,
  resourceUuid: string,
  deleteStorages: boolean,
): Promise<void> {
  const paths = resourcePaths(dataFolder, resourceUuid);
  const shared = [paths.releases, paths.run, paths.files, paths.cache, paths.home, paths.temporary];
  for (const folder of deleteStorages ? [...shared, paths.storages] : shared) await removeFolder(dataFolder, folder);
  if ((await names(paths.storages)).length === 0) await removeFolder(dataFolder, paths.folder);
}

export async function removeVolumeFolders(
  dataFolder: string,
  resourceUuid: string,
  storageUuids: readonly string[],
): Promise<void> {
  const paths = resourcePaths(dataFolder, resourceUuid);
  for (const uuid of storageUuids) await removeFolder(dataFolder, storageFolder(paths, uuid));
}

const isSibling = (spec: ReleaseSpec, ref: ReleaseRef) =>
  spec.resourceUuid === ref.resourceUuid && spec.deploymentUuid !== ref.deploymentUuid;

const usedFolder = ({ artifact }: ReleaseSpec) => (artifact.type === "folder" ? artifact.folder : undefined);

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ENOTDIR")) return [];
    throw cause;
  }
}
