import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/**
 * Removes what a process that was killed has left in a folder. Others may be at work there, so only what has not
 * changed for longer than their work can take is removed.
 * @param prefix Of the names that are temporary.
 */
export async function removeLeftovers(folder: string, prefix: string, ageSeconds: number): Promise<void> {
  const oldest = Date.now() - ageSeconds * 1000;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix)) continue;
    const path = join(folder, name);
    // Gone meanwhile: its own process has removed it.
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { recursive: true, force: true });
  }
}
