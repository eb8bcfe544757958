import { lstat, readdir, readlink } from "node:fs/promises";
import { dirname, join, posix, relative, resolve } from "node:path";
import { DomainError } from "@berth/core";
import type { FileMount, FolderArtifact, ReleaseSpec, StorageMount } from "@berth/core/deploy";
import type { Argv, HostUser } from "@berth/host";
import { run } from "@berth/host";
import { SYSTEM_PATH } from "./environment.ts";
import {
  filesFolder,
  isBelow,
  makeFolder,
  makePassage,
  mountedAt,
  type ResourcePaths,
  storageFolder,
} from "./paths.ts";

/**
 * Creates what is mounted, and a link where the application expects it: at `mountPath` when that is relative, below
 * `/app` (which stands for the application's working directory) or below a volume. Files of the repository at that
 * path initialise an empty volume, as in a container; otherwise the mount hides them.
 *
 * Everything inside the release is done as its user: so links in the repository cannot lead outside of its folder, and
 * a mounted folder of the server shows only what that user may see.
 *
 * @throws DomainError `deploy.start_failed`
 */
export async function mountStorages(
  { storages, deploymentUuid }: Pick<ReleaseSpec, "storages" | "deploymentUuid">,
  artifact: FolderArtifact,
  paths: ResourcePaths,
  user: HostUser | undefined,
): Promise<void> {
  const volumes = storages.filter(({ type }) => type === "volume");
  for (const mount of storages) {
    const target = mountedAt(mount, paths, deploymentUuid);
    if (mount.type === "volume") await makeFolder(target, user);
    if (mount.type === "folder") await requireFolder(mount, target, user);
    if (mount.type === "file") await writeMounted(mount, target, { paths, deploymentUuid, user });
    const outer = volumes.findLast((volume) => isBelow(pathOf(volume), pathOf(mount)));
    const place =
      outer === undefined
        ? placeIn(artifact.workingFolder, "/app", mount)
        : placeIn(storageFolder(paths, outer.uuid), pathOf(outer), mount);
    if (place !== undefined) await linkMount(mount, target, { ...place, user });
  }
}

const pathOf = ({ mountPath }: StorageMount): string => posix.resolve("/app", mountPath);

interface StorageFolder {
  readonly top: string;
  readonly path: string;
}

/** @param mountedTop Path of `top` inside the release. @returns `undefined`: only its variable tells the path. */
function placeIn(top: string, mountedTop: string, mount: StorageMount): StorageFolder | undefined {
  const path = resolve(top, posix.relative(mountedTop, pathOf(mount)));
  return isBelow(top, path) ? { top, path } : undefined;
}

async function requireFolder(mount: StorageMount, folder: string, user: HostUser | undefined): Promise<void> {
  const reason = `the server's folder ${folder} does not exist, or the application's user may not enter it`;
  await runAs(user, mount, ["test", "-x", `${folder}/.`], reason);
}

interface FilePlace {
  readonly paths: ResourcePaths;
  readonly deploymentUuid: string;
  readonly user: HostUser | undefined;
}

async function writeMounted(mount: FileMount, file: string, { paths, deploymentUuid, user }: FilePlace): Promise<void> {
  await makePassage(filesFolder(paths, deploymentUuid), user);
  await makeFolder(dirname(file), user);
  await runAs(user, mount, ["rm", "-rf", "--", file]);
  // The content is passed by standard input: arguments are visible to every process of the machine.
  await runAs(user, mount, ["dd", "status=none", `of=${file}`], undefined, mount.content);
  await runAs(user, mount, ["chmod", "0600", "--", file]);
}

interface LinkPlace extends StorageFolder {
  readonly user: HostUser | undefined;
}

async function linkMount(mount: StorageMount, target: string, { top, path, user }: LinkPlace): Promise<void> {
  const act = (...argv: Argv) => runAs(user, mount, argv);
  await refuseLinks(mount, top, dirname(path));
  const found = await kindOf(path);
  if (found === "link" && (await readlink(path)) === target) return;
  const isFile = mount.type === "file";
  if (found === (isFile ? "folder" : "file")) throw failed(mount, `a ${found} of the application is in its place`);
  if (found === "folder") {
    if (mount.type === "volume" && (await readdir(target)).length === 0) await act("cp", "-a", `${path}/.`, target);
    await act("rm", "-rf", "--", path);
  }
  await act("mkdir", "-p", "--", dirname(path));
  await act("ln", "-sfn", "--", target, path);
}

/** A link in the path could lead outside of the application's folder. */
async function refuseLinks(mount: StorageMount, top: string, folder: string): Promise<void> {
  let current = top;
  for (const segment of relative(top, folder).split("/").filter(Boolean)) {
    current = join(current, segment);
    const kind = await kindOf(current);
    if (kind === "none") return;
    if (kind !== "folder") throw failed(mount, "a link or file of the application is in its path");
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

async function runAs(
  user: HostUser | undefined,
  mount: StorageMount,
  argv: Argv,
  reason = "it cannot be put there",
  stdin?: string,
): Promise<void> {
  const { exitCode, output } = await run(argv, { env: { PATH: SYSTEM_PATH }, cwd: "/", user, stdin });
  if (exitCode !== 0) throw failed(mount, reason, new Error(output));
}

function failed(mount: StorageMount, reason: string, cause?: Error): DomainError {
  const message = `The storage ${mount.name} cannot be mounted at ${mount.mountPath}: ${reason}. Choose another path.`;
  return new DomainError("deploy.start_failed", message, { cause });
}
