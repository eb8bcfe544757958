// Finds the build of a program and makes it anew when a source has changed. Runs on any Node 18 or newer, before the
// packages are installed: it imports nothing but Node's own modules.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PROGRAMS } from "./programs.mjs";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = fileURLToPath(new URL("./main.mjs", import.meta.url));

/** Written into the folder of the builds at the end of each: which build is the newest, and what it was made of. */
export const MANIFEST = "current.json";

export const distOf = (program) => join(ROOT, program.folder, program.dist ?? "dist");

/**
 * The folder of an up-to-date build.
 *
 * @param {string} name Of `PROGRAMS`.
 * @returns {string} Absolute. Ends the process with a message when the build fails.
 */
export function freshBuild(name) {
  const folder = builtFolder(name);
  if (folder !== undefined) return folder;
  const pinned = join(ROOT, "node_modules/.bin/node");
  // Where the registry has no Node for the platform, the system's serves.
  const node = existsSync(pinned) ? pinned : process.execPath;
  const { status, error } = spawnSync(node, [MAIN, name], { stdio: ["ignore", 2, 2] });
  const built = status === 0 ? builtFolder(name) : undefined;
  if (built !== undefined) return built;
  if (error !== undefined) console.error(error.message);
  console.error(`The build of ${name} failed. Correct the error above, then run the same command again.`);
  process.exit(status ?? 1);
}

/** `undefined` when there is no build, or a file that it was made of has changed since. */
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

/** A file's by its time and size; a folder's by the names in it. */
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
    return undefined; // Not built yet, or by an earlier version of this file.
  }
}
