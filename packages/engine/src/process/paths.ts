import { chmod, chown, mkdir } from "node:fs/promises";
import { basename, isAbsolute, join, relative } from "node:path";
import { DomainError } from "@berth/core";
import type { ReleaseRef, StorageMount } from "@berth/core/deploy";
import type { HostUser } from "@berth/host";

/** The folders of one resource. */
export interface ResourcePaths {
  readonly folder: string;
  readonly releases: string;
  readonly run: string;
  readonly storages: string;
  /** Files that are mounted into releases. */
  readonly files: string;
  readonly cache: string;
  readonly home: string;
  readonly temporary: string;
}

/** Folder and files by which one release is supervised. The application cannot enter it. */
export interface RunPaths {
  readonly folder: string;
  readonly spec: string;
  readonly record: string;
  /** File for the application's exit code, written by the shim. */
  readonly result: string;
  readonly log: string;
  /** When its bytes were written. */
  readonly logTimes: string;
}

export function resourcePaths(dataFolder: string, resourceUuid: string): ResourcePaths {
  const folder = join(dataFolder, checkedUuid(resourceUuid));
  return {
    folder,
    releases: join(folder, "releases"),
    run: join(folder, "run"),
    storages: join(folder, "storages"),
    files: join(folder, "files"),
    cache: join(folder, "cache"),
    home: join(folder, "home"),
    temporary: join(folder, "tmp"),
  };
}

export function runPaths(dataFolder: string, ref: ReleaseRef): RunPaths {
  const folder = join(resourcePaths(dataFolder, ref.resourceUuid).run, checkedUuid(ref.deploymentUuid));
  return {
    folder,
    spec: join(folder, "spec.json"),
    record: join(folder, "state.json"),
    result: join(folder, "result"),
    log: join(folder, "log"),
    logTimes: join(folder, "log.times"),
  };
}

export const releaseFolder = (dataFolder: string, ref: ReleaseRef): string =>
  join(resourcePaths(dataFolder, ref.resourceUuid).releases, checkedUuid(ref.deploymentUuid));

export const storageFolder = (paths: ResourcePaths, storageUuid: string): string =>
  join(paths.storages, checkedUuid(storageUuid));

/** Each release has its own copy, since the next one's may differ while both run. */
export const filesFolder = (paths: ResourcePaths, deploymentUuid: string): string =>
  join(paths.files, checkedUuid(deploymentUuid));

/** Path at which the release finds a mount, even if the mount's own path cannot be provided. */
export function mountedAt(mount: StorageMount, paths: ResourcePaths, deploymentUuid: string): string {
  if (mount.type === "volume") return storageFolder(paths, mount.uuid);
  if (mount.type === "folder") return mount.hostPath;
  return join(filesFolder(paths, deploymentUuid), checkedUuid(mount.uuid), basename(mount.mountPath));
}

export const isUuid = (name: string): boolean => /^[a-z0-9-]{1,64}$/.test(name);

/** A uuid becomes a part of a path, so other characters are refused. */
function checkedUuid(uuid: string): string {
  if (isUuid(uuid)) return uuid;
  throw new DomainError("engine.failed", "An identifier has to be 1 to 64 lower-case letters, digits and dashes.");
}

/** Whether `path` is below `folder`, by comparing paths only: links are not resolved. */
export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith("../") && !isAbsolute(way);
}

/**
 * Creates the folders of a resource. Its user can pass through to its own folders, other users cannot. The parent
 * folders belong to us, so that the user cannot replace a folder that we work in by a link.
 */
export async function makeResourceFolders(paths: ResourcePaths, user: HostUser | undefined): Promise<void> {
  for (const folder of [paths.folder, paths.releases, paths.storages, paths.files]) await makePassage(folder, user);
  await makeFolder(paths.run, undefined);
  for (const folder of [paths.cache, paths.home, paths.temporary]) await makeFolder(folder, user);
}

/** A folder that only its user can enter; ours when there is no user. */
export async function makeFolder(folder: string, user: HostUser | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (user !== undefined) await chown(folder, user.uid, user.gid);
}

/** A folder that a user can pass through to its own folders, but not change. */
export async function makePassage(folder: string, user: HostUser | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (user === undefined) return;
  await chown(folder, process.getuid?.() ?? 0, user.gid);
  await chmod(folder, 0o710);
}
