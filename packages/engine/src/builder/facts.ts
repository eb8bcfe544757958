import { constants } from "node:fs";
import { access, lstat, open, readdir, realpath } from "node:fs/promises";
import { delimiter, dirname, join, relative } from "node:path";
import { DomainError } from "@berth/core";
import { listNames } from "./listing.ts";
import { type PackageJson, parsePackageJson } from "./package-json.ts";
import type { SourceFacts, WorkspaceFacts } from "./plan.ts";

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
 * @param path PATH of the build.
 */
export async function readFacts(root: string, folder: string, path: string): Promise<SourceFacts> {
  const packageJson = await readPackageJson(folder);
  const configs = ["next.config.js", "next.config.mjs", "next.config.ts", "next.config.cjs"];
  const nextConfig = await Promise.all(configs.map((name) => readText(join(folder, name))));
  return {
    entries: await entriesOf(folder),
    packageJson,
    procfile: await readText(join(folder, "Procfile")),
    workspace: await readWorkspace(root, folder, packageJson),
    isNextExport: nextConfig.some((text) => /\boutput\s*:\s*["'`]export["'`]/.test(text ?? "")),
    hasPython: await isProgram("python3", path),
  };
}

const LOCKFILES = ["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"];
const TEXT_BYTES_MAX = 4 << 20; // Longer files are cut here: only the first lines of a lockfile are needed.

/** The base directory when it has a lockfile, else the nearest parent workspace with one. */
async function readWorkspace(
  root: string,
  folder: string,
  packageJson: PackageJson | undefined,
): Promise<WorkspaceFacts> {
  for (let at = folder, levelsUp = 0; isWithin(root, at); at = dirname(at), levelsUp++) {
    const lockfiles = (await readdir(at)).filter((name) => LOCKFILES.includes(name));
    if (lockfiles.length === 0) continue;
    const own = levelsUp === 0 ? packageJson : await readPackageJson(at);
    const isWorkspace = own?.hasWorkspaces || (await exists(join(at, "pnpm-workspace.yaml")));
    if (levelsUp === 0 || isWorkspace) return workspaceAt(at, levelsUp, lockfiles, own, packageJson);
  }
  return workspaceAt(folder, 0, [], packageJson, packageJson);
}

async function workspaceAt(
  folder: string,
  levelsUp: number,
  lockfiles: readonly string[],
  own: PackageJson | undefined,
  base: PackageJson | undefined,
): Promise<WorkspaceFacts> {
  const [yarnLock, pnpmLock, yarnrc, pnpmSettings] = await Promise.all(
    ["yarn.lock", "pnpm-lock.yaml", ".yarnrc.yml", "pnpm-workspace.yaml"].map((name) => readText(join(folder, name))),
  );
  const yarnPath = /^yarnPath:\s*["']?([^"'\s]+)["']?\s*$/m.exec(yarnrc ?? "")?.[1];
  const major = /^lockfileVersion:\s*["']?(\d+)/m.exec(pnpmLock ?? "")?.[1];
  return {
    levelsUp,
    lockfiles,
    packageManager: base?.packageManager ?? own?.packageManager,
    yarnLock: yarnLock === undefined ? undefined : /^__metadata:/m.test(yarnLock) ? "berry" : "classic",
    yarnPath: yarnPath === undefined ? undefined : join("../".repeat(levelsUp), yarnPath),
    pnpmLockMajor: major === undefined ? undefined : Number(major),
    hasPnpmSettings: own?.hasPnpmSettings === true,
    hasPnpmBuildRules: own?.hasPnpmSettings === true || PNPM_BUILD_RULES.test(pnpmSettings ?? ""),
  };
}

const PNPM_BUILD_RULES =
  /^(onlyBuiltDependencies|onlyBuiltDependenciesFile|neverBuiltDependencies|ignoredBuiltDependencies|allowBuilds|strictDepBuilds|dangerouslyAllowAllBuilds)\s*:/m;

async function readPackageJson(folder: string): Promise<PackageJson | undefined> {
  const text = await readText(join(folder, "package.json"));
  return text === undefined ? undefined : parsePackageJson(text);
}

async function entriesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
}

/** The beginning of a regular file; `undefined` for anything else. Links are not followed, pipes not waited for. */
async function readText(file: string): Promise<string | undefined> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(Math.min(stats.size, TEXT_BYTES_MAX)), 0);
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

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** Whether a program of this name is executable and found in this PATH. */
export async function isProgram(name: string, path: string): Promise<boolean> {
  const found = path.split(delimiter).map((folder) =>
    access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    ),
  );
  return (await Promise.all(found)).includes(true);
}

/** Compares paths only, without resolving links. */
export function isWithin(outer: string, path: string): boolean {
  const way = relative(outer, path);
  return way !== ".." && !way.startsWith("../");
}
