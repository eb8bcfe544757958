import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { findLinks, type Link } from "../application-link.ts";
import { usage } from "../failure.ts";
import type { System } from "../system.ts";

export interface DeployFolder {
  readonly path: string;
  /** The argument of a command that means it. */
  readonly argument: string;
  /** Whether that argument was given. */
  readonly isNamed: boolean;
  /** Links of earlier deployments. */
  readonly links: readonly Link[];
}

/** The folder to deploy: the named one, else the nearest parent that was deployed before, else the current one. */
export async function deployFolder(system: System, named: string | undefined): Promise<DeployFolder> {
  const start = await existingFolder(resolve(system.cwd, named ?? "."));
  const found = await findLinks(start);
  const isOwn = found !== undefined && (found.folder === start || named === undefined);
  const path = isOwn ? found.folder : start;
  // A home folder is hardly an application, and it contains the server's own data in ~/.berth.
  if (path === dirname(path) || path === (await realpath(system.homeFolder).catch(() => undefined))) {
    throw usage(`${path} is not the folder of an application. Name the folder: berth deploy FOLDER`);
  }
  const argument = named ?? (relative(system.cwd, path) || ".");
  return { path, argument, isNamed: named !== undefined, links: isOwn ? found.links : [] };
}

/** @throws Failure when what should be the address of a repository is a folder here, which the server cannot read */
export async function requireNoFolder({ cwd }: Pick<System, "cwd">, git: string): Promise<void> {
  const path = resolve(cwd, git);
  const isFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) return;
  throw usage(`${git} is a folder, not the address of a repository.`, [
    `Upload the folder:                     berth deploy ${git}`,
    `Clone it, if Berth is on this machine: berth deploy --git file://${path}`,
  ]);
}

async function existingFolder(path: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined);
  if (stats?.isDirectory()) return realpath(path);
  throw usage(`${path} is not a folder. To deploy an existing application: berth deploy [FOLDER] --app NAME`);
}

/** Default name of an application: its package's, else the folder's. */
export async function nameOf(folder: string): Promise<string> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(() => "");
  return packageName(text) ?? basename(folder);
}

function packageName(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null || !("name" in parsed)) return undefined;
    const { name } = parsed;
    // `@acme/web` → `web`.
    return typeof name === "string" ? name.replace(/^@[^/]*\//, "") || undefined : undefined;
  } catch {
    return undefined;
  }
}
