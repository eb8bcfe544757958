import { statfs } from "node:fs/promises";
import type { DiskSpace } from "@berth/core/ports";

/** Usage of the disk that holds the folder, for unprivileged users; `undefined` when it cannot be read. */
export async function diskSpace(folder: string): Promise<DiskSpace | undefined> {
  try {
    const { bsize, blocks, bavail } = await statfs(folder);
    return { folder, totalBytes: blocks * bsize, freeBytes: bavail * bsize };
  } catch {
    // No such folder yet, or a file system that does not tell.
    return undefined;
  }
}
