// Finds a program's build, and rebuilds it when a source has changed. Runs on Node 18 or newer, before the packages
// are installed, so it imports only Node's own modules.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAMS } from "./programs.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = fileURLToPath(new URL("./main.mjs", import.meta.url));

/** File in the folder of builds, written at the end of each: names the newest build and its inputs. */
export const MANIFEST = "current.json";

export const distOf = (program) => join(ROOT, program.folder, program.dist ?? "dist");

/**
 * Folder of the up-to-date build.
 *
 * @param {string} name Name in `PROGRAMS`.
 * @returns {string} Absolute path. When the build fails, the process ends with a message.
 */
export function freshBuild(name) {
  const folder = builtFolder(name);
  if (folder !== undefined) return folder;
  const pinned = join(ROOT, "node_modules/.bin/node");
  // On platforms without a pinned Node, the system's is used.
  const node = existsSync(pinned) ? pinned : process.execPath;
  const { status, error } = spawnSync(node, [MAIN, name], { stdio: ["ignore", 2, 2] });
  const built = status === 0 ? builtFolder(name) : undefined;
  if (built !== undefined) return built;
  if (error !== undefined) console.error(error.message);
  console.error(`The build of ${name} failed. Correct the error above, then run the same command again.`);
  process.exit(status ?? 1);
}

/** `undefined` when there is no build, or an input has changed since. */
export function builtFolder(name) {
  const program = PROGRAMS[name];
  const dist = distOf(program);
  const manifest = readManifest(dist);
  if (manifest === undefined || manifest.settings !== settingsOf(program)) return undefined;
  for (const [path, stamp] of Object.entries(manifest.inputs)) if (stampOf(path) !== stamp) return undefined;
  return join(dist, manifest.key);
}

/** The build also depends on its row in the table. */
export const settingsOf = (program) => JSON.stringify(program);

/** Stamp of an input: a file's time and size, or the names in a folder. */
export function stampOf(path) {
  const stats = statSync(join(ROOT, path), { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  if (stats.isDirectory()) return readdirSync(join(ROOT, path)).sort().join("\n");
  return `${stats.mtimeMs} ${stats.size}`;
}

function readManifest(dist) {
  try {
    return JSON.parse(readFileSync(join(dist, MANIFEST), "utf8"));
  } catch {
    return undefined; // No build yet, or the manifest is of an earlier version of this file.
  }
}
