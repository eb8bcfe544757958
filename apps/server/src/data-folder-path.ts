import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Path of the data folder. Imports none of our modules, because it is needed before any other. */
export function dataFolderPath(environment: Readonly<Record<string, string | undefined>>): string {
  return resolve(environment.BERTH_DATA || (process.getuid?.() === 0 ? "/var/lib/berth" : join(homedir(), ".berth")));
}
