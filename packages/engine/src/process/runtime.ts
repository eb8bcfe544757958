import { createHash, randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { findPackageJSON } from "node:module";
import { basename, dirname, join, relative } from "node:path";
import { DomainError } from "@berth/core";
import { run } from "@berth/host";

/** Node and the package managers, in a folder that all users can read and only we can write. */
export interface Runtime {
  readonly folder: string;
  /** Folder with `node`, `npm`, `npx`, `pnpm`, `pnpx`, `yarn`: the first entry of an application's PATH. */
  readonly bin: string;
  readonly node: string;
  /** Program that serves a static site, to be run by `node`. */
  readonly staticServer: string;
}

/**
 * Prepares the runtime below `root`, in a folder named after its content: returns at once when it exists, atomic and
 * safe to call from several processes when it does not. Files are hard links where the file system allows, else
 * copies.
 *
 * @throws DomainError `setup.failed`
 */
export async function prepareRuntime(root: string): Promise<Runtime> {
  try {
    const parts = await findParts();
    const runtime = runtimeAt(join(root, parts.key));
    if (!(await exists(runtime.folder))) await install(runtime.folder, parts);
    return runtime;
  } catch (cause) {
    const message = `The folder ${root} for Node and npm cannot be prepared. Check that it is writable and that the disk is not full.`;
    throw new DomainError("setup.failed", message, { cause });
  }
}

/** Removes older runtimes that no release uses. The folder is shared, so other entries stay. */
export async function pruneRuntimes(root: string, keep: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(root)) {
    const folder = join(root, name);
    if (RUNTIME_NAME.test(name) && !keep.has(folder)) await rm(folder, { recursive: true, force: true });
  }
}

/** Name of a runtime, or of one whose installation was interrupted. */
const RUNTIME_NAME = /^([0-9a-f]{16}|\.[0-9a-f]{16}-[0-9a-f-]{36})$/;

const isSource = import.meta.url.endsWith(".ts");
const STATIC_SERVER = new URL(isSource ? "./static-server.ts" : "./static-server.js", import.meta.url);

interface PackageParts {
  /** Files and folders of the package to copy. Default: all except nested packages. */
  readonly needs?: readonly string[];
  /** The package's file by the name of the command that runs it. */
  readonly commands: Readonly<Record<string, string>>;
}

const PACKAGES = {
  npm: {
    needs: ["bin", "lib", "node_modules", "index.js", "package.json"],
    commands: { npm: "bin/npm-cli.js", npx: "bin/npx-cli.js" },
  },
  // pnpm is a native program that acts by the name it is called with.
  pnpm: { needs: ["pnpm", "dist", "package.json"], commands: { pnpm: "pnpm", pnpx: "pnpm" } },
  yarn: { needs: ["bin", "lib", "package.json"], commands: { yarn: "bin/yarn.js", yarnpkg: "bin/yarn.js" } },
} as const satisfies Record<string, PackageParts>;

/** The only package that the static server imports; nothing else of ours is installed beside it. */
const STATIC_SERVER_IMPORTS = "@fastify/send";

interface Parts {
  readonly key: string;
  readonly packages: readonly (PackageParts & { readonly name: string; readonly folder: string })[];
  /** Its source file: TypeScript in the repository, JavaScript in a build. */
  readonly staticServer: string;
}

/** Skips package managers that are not installed, as in a trimmed image. */
async function findParts(): Promise<Parts> {
  const hash = createHash("sha256").update(process.version).update(process.arch);
  const packages: Parts["packages"][number][] = [];
  for (const [name, parts] of Object.entries(PACKAGES)) {
    const manifest = findPackageJSON(name, import.meta.url);
    if (manifest === undefined) continue;
    hash.update(await readFile(manifest));
    packages.push({ name, folder: dirname(manifest), ...parts });
  }
  // A build of the static server bundles its imports.
  const imported = isSource ? await closureOf(STATIC_SERVER_IMPORTS) : new Map<string, string>();
  for (const [name, manifest] of imported) {
    hash.update(await readFile(manifest));
    packages.push({ name, folder: dirname(manifest), commands: {} });
  }
  const staticServer = await readFile(STATIC_SERVER, "utf8");
  return { key: hash.update(staticServer).digest("hex").slice(0, 16), packages, staticServer };
}

/** Manifests of a package and of all its dependencies, by name. In the runtime they are installed side by side. */
async function closureOf(name: string, from: string = import.meta.url): Promise<ReadonlyMap<string, string>> {
  const manifest = findPackageJSON(name, from);
  if (manifest === undefined) return new Map();
  const found = new Map([[name, manifest]]);
  // npm installed it, so its dependencies are a map of names.
  const { dependencies = {} } = JSON.parse(await readFile(manifest, "utf8")) as {
    dependencies?: Record<string, string>;
  };
  for (const needed of Object.keys(dependencies)) {
    // Resolve nested dependencies from the package's real folder.
    for (const [other, place] of await closureOf(needed, await realpath(manifest))) found.set(other, place);
  }
  return found;
}

const runtimeAt = (folder: string): Runtime => ({
  folder,
  bin: join(folder, "bin"),
  node: join(folder, "bin/node"),
  staticServer: join(folder, "lib/static-server.mjs"),
});

async function install(folder: string, parts: Parts): Promise<void> {
  const temporary = join(dirname(folder), `.${basename(folder)}-${randomUUID()}`);
  const { bin, node, staticServer } = runtimeAt(temporary);
  try {
    await makeFolders(dirname(temporary), temporary, bin, join(temporary, "lib"), join(temporary, "lib/node_modules"));
    await place(process.execPath, node);
    for (const { name, folder: source, needs, commands } of parts.packages) {
      const target = join(temporary, "lib/node_modules", name);
      await makeFolders(target);
      const parts = needs ?? (await readdir(source)).filter((part) => part !== "node_modules");
      for (const need of parts) await place(join(source, need), join(target, need));
      for (const [command, file] of Object.entries(commands)) {
        await symlink(relative(bin, join(target, file)), join(bin, command));
      }
    }
    await writeFile(staticServer, await javaScriptOf(parts.staticServer));
    await chmod(staticServer, 0o644);
    await rename(temporary, folder);
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    // Another process created it first.
    if (!(await exists(folder))) throw cause;
  }
}

/** Sets the mode explicitly, whatever our umask. */
async function makeFolders(...folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o755);
  }
}

async function place(source: string, target: string): Promise<void> {
  const stats = await lstat(source);
  if (stats.isSymbolicLink()) return symlink(await readlink(source), target);
  if (!stats.isDirectory()) return placeFile(source, target, stats);
  await makeFolders(target);
  for (const name of await readdir(source)) await place(join(source, name), join(target, name));
}

async function placeFile(source: string, target: string, stats: Stats): Promise<void> {
  const isExecutable = (stats.mode & 0o100) !== 0;
  const wanted = isExecutable ? 0o755 : 0o644;
  // A hard link shares the file's mode, so a file that others cannot read has to be copied.
  if ((stats.mode & wanted) === wanted && (await linked(source, target))) return;
  await copyFile(source, target, constants.COPYFILE_FICLONE);
  await chmod(target, wanted);
}

async function linked(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target);
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && CANNOT_LINK.has(cause.code)) return false;
    throw cause;
  }
}

// Another file system, another owner, no support for links, too many links.
const CANNOT_LINK: ReadonlySet<unknown> = new Set(["EXDEV", "EPERM", "ENOTSUP", "EMLINK"]);

/**
 * Removes types, so that it starts faster and needs half the memory. A build has none. Runs in a separate process,
 * since Node warns that the function is experimental.
 */
async function javaScriptOf(source: string): Promise<string> {
  if (!isSource) return source;
  const script =
    'process.stdout.write(require("node:module").stripTypeScriptTypes(require("node:fs").readFileSync(0, "utf8")))';
  const argv = [process.execPath, "--disable-warning=ExperimentalWarning", "--eval", script] as const;
  const { exitCode, output } = await run(argv, { env: {}, stdin: source });
  if (exitCode !== 0) throw new Error(output);
  return output;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return false;
    throw cause;
  }
}
