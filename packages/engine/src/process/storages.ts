import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, join, posix, relative, resolve } from "node:path";
import { DomainError, type FolderArtifact, type StorageMount } from "@berth/core";
import type { Argv } from "../host/argv.ts";
import { run } from "../host/local.ts";
import type { HostUser } from "../host/user.ts";
import { SYSTEM_PATH } from "./environment.ts";
import { isBelow, makeFolder, type ResourcePaths, storageFolder } from "./paths.ts";

/**
 * Makes each storage's folder, and a link to it where the application looks for it: at `mountPath` when that is relative
 * or below `/app`, which stands for the folder the application starts in. What the repository has at that place is the
 * first content of an empty storage, as with a container's new volume; later it is hidden by the storage.
 *
 * Everything inside the release is done as its user, so that a link made by the repository leads nowhere else.
 *
 * @throws DomainError `deploy.start_failed`
 */
export async function linkStorages(
  storages: readonly StorageMount[],
  artifact: FolderArtifact,
  paths: ResourcePaths,
  user: HostUser | undefined,
): Promise<void> {
  for (const storage of storages) {
    const folder = storageFolder(paths, storage.uuid);
    await makeFolder(folder, user);
    const place = placeOf(storage.mountPath, artifact.workingFolder);
    if (place !== undefined) await linkStorage(storage, folder, { place, workingFolder: artifact.workingFolder, user });
  }
}

/** `undefined`: the application finds the storage only by its variable. */
function placeOf(mountPath: string, workingFolder: string): string | undefined {
  const path = posix.normalize(mountPath);
  const inside = path.startsWith("/") ? posix.relative("/app", path) : path;
  const place = resolve(workingFolder, inside);
  return isBelow(workingFolder, place) ? place : undefined;
}

interface LinkPlace {
  readonly place: string;
  readonly workingFolder: string;
  readonly user: HostUser | undefined;
}

async function linkStorage(storage: StorageMount, folder: string, { place, workingFolder, user }: LinkPlace) {
  const act = (...argv: Argv) => runAs(user, storage, argv);
  await refuseLinks(storage, workingFolder, dirname(place));
  const found = await kindOf(place);
  if (found === "link" && (await readlink(place)) === folder) return;
  if (found === "file") throw failed(storage, "a file of the application is in its place");
  if (found === "folder") {
    if ((await readdir(folder)).length === 0) await act("cp", "-a", `${place}/.`, folder);
    await act("rm", "-rf", "--", place);
  }
  await act("mkdir", "-p", "--", dirname(place));
  await act("ln", "-sfn", "--", folder, place);
}

/** A link on the way could lead out of the application's folder. */
async function refuseLinks(storage: StorageMount, top: string, folder: string): Promise<void> {
  let current = top;
  for (const segment of relative(top, folder).split("/").filter(Boolean)) {
    current = join(current, segment);
    const kind = await kindOf(current);
    if (kind === "none") return;
    if (kind !== "folder") throw failed(storage, "a link or file of the application stands on the way to it");
  }
}

async function kindOf(path: string): Promise<"none" | "link" | "folder" | "file"> {
  try {
    const stats = await lstat(path);
    if (stats.isSymbolicLink()) return "link";
    return stats.isDirectory() ? "folder" : "file";
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return "none";
    throw cause;
  }
}

async function runAs(user: HostUser | undefined, storage: StorageMount, argv: Argv): Promise<void> {
  const { exitCode, output } = await run(argv, { env: { PATH: SYSTEM_PATH }, cwd: "/", user });
  if (exitCode !== 0) throw failed(storage, "its folder cannot be linked", new Error(output));
}

function failed(storage: StorageMount, reason: string, cause?: Error): DomainError {
  const message = `The storage ${storage.name} cannot be mounted at ${storage.mountPath}: ${reason}. Choose another mount path.`;
  return new DomainError("deploy.start_failed", message, { cause });
}
