import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Where Berth keeps everything, unless told otherwise. Imports nothing of ours: it is needed before all else. */
export function dataFolderPath(environment: Readonly<Record<string, string | undefined>>): string {
  return resolve(environment.BERTH_DATA || (process.getuid?.() === 0 ? "/var/lib/berth" : join(homedir(), ".berth")));
}
