import { statfs } from "node:fs/promises";
import type { DiskSpace } from "@berth/core/ports";

/** Usage of a folder's disk, for unprivileged users; `undefined` when it cannot be read. */
export async function diskSpace(folder: string): Promise<DiskSpace | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { folder, totalBytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    // The folder does not exist yet, or its file system does not report usage.
    return undefined;
  }
}
