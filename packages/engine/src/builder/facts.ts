import { constants } from "node:fs";
import { access, lstat, open, readdir, realpath } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import {
  FILE_DEPTH,
  isRead,
  LOCKFILES,
  listNames,
  type PackageJson,
  PROGRAMS,
  parsePackageJson,
  type SourceFacts,
  sourceFacts,
  TEXT_BYTES_MAX,
  type WorkspaceFacts,
  workspaceFacts,
} from "@berth/core/build";
import { isWithin } from "./is-within.ts";

/**
 * Resolves a folder that a user names and that must lie inside `root`.
 * @param path As the user wrote it, with or without a leading slash.
 * @returns Its real path.
 * @throws DomainError `deploy.build_failed` when it is not a folder, or leaves `root` by `..` or by a link.
 */
export async function folderInside(root: string, path: string, field: string): Promise<string> {
  const outer = await realpath(root);
  const wanted = join(outer, path.includes("\0") ? "\0" : path);
  const found = isWithin(outer, wanted) && !path.includes("\0") ? await realFolder(wanted) : "outside";
  if (found === undefined) {
    const names = await readdir(outer);
    const message = `The ${field} ${path} is not a folder of the source, which contains ${listNames(names)}. Correct it.`;
    throw new DomainError("deploy.build_failed", message);
  }
  if (found === "outside" || !isWithin(outer, found)) {
    const message = `The ${field} ${path.replace(/\p{C}/gu, "?")} is outside of the source. Name a folder inside it.`;
    throw new DomainError("deploy.build_failed", message);
  }
  return found;
}

/**
 * Reads the facts that a plan is made from. Call it before anything of the source has run.
 * @param root The whole source, real path.
 * @param folder The base directory inside it, real path.
 * @param path PATH of the build. Left out: it has every program that it needs.
 */
export async function readFacts(root: string, folder: string, path?: string): Promise<SourceFacts> {
  const paths = await pathsIn(folder);
  const texts = await textsOf(folder, paths.filter(isRead));
  const missingPrograms = path === undefined ? [] : await lacking(PROGRAMS, path);
  const own = packageJsonOf(texts);
  return sourceFacts({ paths, texts, missingPrograms }, await readWorkspace(root, folder, own));
}

/** The base directory when it has a lockfile, else the nearest workspace above that has one. */
async function readWorkspace(
  root: string,
  folder: string,
  base: PackageJson | undefined,
): Promise<WorkspaceFacts | undefined> {
  for (let at = folder, levelsUp = 0; isWithin(root, at); at = dirname(at), levelsUp++) {
    const names = await readdir(at);
    const lockfiles = names.filter((name) => LOCKFILES.includes(name));
    if (lockfiles.length === 0) continue;
    if (levelsUp === 0) return undefined;
    const texts = await textsOf(at, names.filter(isRead));
    const own = packageJsonOf(texts);
    if (!own?.hasWorkspaces && !names.includes("pnpm-workspace.yaml")) continue;
    return workspaceFacts({ levelsUp, lockfiles, texts, own, base });
  }
  return undefined;
}

const PATHS_MAX = 2000; // Rules look for a few names; a folder with more files is not read to its end.

/** Files and folders as deep as rules look, the upper ones first. What is hidden or installed is not looked into. */
async function pathsIn(folder: string): Promise<string[]> {
  const paths: string[] = [];
  let level = [""];
  for (let depth = 0; depth < FILE_DEPTH && paths.length < PATHS_MAX; depth++) {
    const next: string[] = [];
    for (const parent of level) {
      // Links are not followed, so nothing outside of the source is listed.
      for (const entry of await readdir(join(folder, parent), { withFileTypes: true })) {
        const path = `${parent}${entry.name}${entry.isDirectory() ? "/" : ""}`;
        if (depth === 0 || paths.length < PATHS_MAX) paths.push(path);
        if (entry.isDirectory() && !/^(\.|node_modules$|vendor$|target$)/.test(entry.name)) next.push(path);
      }
    }
    level = next;
  }
  return paths;
}

async function textsOf(folder: string, paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  let leftBytes = ALL_BYTES_MAX;
  for (const path of paths) {
    const text = await readText(join(folder, path), Math.min(leftBytes, bytesMax(path)));
    if (text === undefined) continue;
    texts.set(path, text);
    leftBytes -= Buffer.byteLength(text);
  }
  return texts;
}

const bytesMax = (path: string): number => (path === "package.json" ? PACKAGE_BYTES_MAX : TEXT_BYTES_MAX);

const packageJsonOf = (texts: ReadonlyMap<string, string>): PackageJson | undefined => {
  const text = texts.get("package.json");
  return text === undefined ? undefined : parsePackageJson(text);
};

const PACKAGE_BYTES_MAX = 1 << 20;
/** Sources are untrusted and may have a thousand files with such names. Texts are held as long as the build lasts. */
const ALL_BYTES_MAX = 3 << 20;

async function lacking(programs: readonly string[], path: string): Promise<string[]> {
  const found = await Promise.all(programs.map((program) => isProgram(program, path)));
  return programs.filter((_, index) => !found[index]);
}

/** The beginning of a regular file; `undefined` for anything else. Links are not followed, pipes not waited for. */
async function readText(file: string, bytesMax: number): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(stats.size, bytesMax)), 0);
    return buffer.subarray(0, bytesRead).toString("utf8");
  } finally {
    await handle.close();
  }
}

async function realFolder(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return undefined;
  return (await lstat(real)).isDirectory() ? real : undefined;
}

/** Whether it may be run under this PATH. */
export async function isProgram(name: string, path: string): Promise<boolean> {
  const found = path.split(delimiter).map((folder) =>
    access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(found)).includes(true);
}
