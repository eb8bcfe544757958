import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { run } from "@berth/host";
import { SYSTEM_PATH } from "./environment.ts";

const trashOf = (dataFolder: string) => join(dataFolder, ".trash");

/**
 * Removes a folder, never the targets of its links. It is first moved where only we can enter: so it disappears at
 * once, and none of its user's processes can change it during the deletion. Idempotent.
 */
export async function removeFolder(dataFolder: string, folder: string): Promise<void> {
  if (!(await isThere(folder))) return;
  const trash = trashOf(dataFolder);
  await mkdir(trash, { recursive: true, mode: 0o700 });
  const moved = join(trash, randomUUID());
  await rename(folder, moved);
  await deleteTree(moved);
}

/** Deletes folders whose removal an earlier process had begun. */
export async function emptyTrash(dataFolder: string): Promise<void> {
  const trash = trashOf(dataFolder);
  if (!(await isThere(trash))) return;
  for (const name of await readdir(trash)) await deleteTree(join(trash, name));
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return false;
    throw cause;
  }
}

/** `rm` works relative to open folders, so links put in its way do no harm; Node's own removal follows paths. */
async function deleteTree(path: string): Promise<void> {
  const rm = () => run(["rm", "-rf", "--", path], { env: { PATH: SYSTEM_PATH } });
  if ((await rm()).exitCode === 0) return;
  // Some caches write-protect their folders; only root can delete from those without `chmod`.
  await run(["chmod", "-R", "u+rwX", "--", path], { env: { PATH: SYSTEM_PATH } });
  const { exitCode, output } = await rm();
  if (exitCode === 0) return;
  const message = `The folder ${path} cannot be deleted. Delete it on the server.`;
  throw new DomainError("engine.failed", message, { cause: new Error(output) });
}
