import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes temporary files of killed processes. Others may still be used, so only files that have not changed for
 * longer than any work takes are removed.
 * @param prefix Beginning of the names of temporary files.
 */
export async function removeLeftovers(folder: string, prefix: string, ageSeconds: number): Promise<void> {
  const oldest = Date.now() - ageSeconds * 1000;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    // Another process has removed it meanwhile.
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { recursive: true, force: true });
  }
}
