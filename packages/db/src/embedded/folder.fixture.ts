import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import { clusterFolder } from "./cluster.ts";
import { readPidFile, stopPostmaster } from "./postmaster.ts";

export const isRootUser = process.getuid?.() === 0;

/** Creates data folders that are removed after each test, and stops servers still running on them. */
export function dataFolders(): (options?: { readonly uid?: number; readonly name?: string }) => Promise<string> {
  const roots: { readonly root: string; readonly folder: string }[] = [];
  afterEach(async () => {
    for (const { root, folder } of roots.splice(0)) {
      const server = await runningServer(folder);
      if (server !== undefined) await stopPostmaster(server);
      await rm(root, { recursive: true, force: true });
    }
  });
  return async ({ uid, name } = {}) => {
    const root = await mkdtemp(join(tmpdir(), "berth-test-data-"));
    const folder = name === undefined ? root : join(root, name);
    if (name !== undefined) await chmod(root, 0o711);
    if (uid !== undefined) await chown(root, uid, uid);
    roots.push({ root, folder });
    return folder;
  };
}

export const runningServer = (folder: string) => readPidFile(clusterFolder(join(folder, "database")));
