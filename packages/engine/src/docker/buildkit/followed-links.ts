import { lstat, readdir, readlink } from "node:fs/promises";
import { join, posix } from "node:path";
import { hasCode } from "../../builder/source-move.ts";
import { expressionOf, isWild } from "./patterns.ts";

/**
 * The requested paths and the targets of links on them, resolved inside the folder as if it were the root of a file
 * system.
 * @returns Patterns; none when everything is selected.
 */
export async function followedLinks(root: string, paths: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const path of paths) await follow(root, path, found);
  return found.has(".") ? [] : [...found];
}

async function follow(root: string, path: string, found: Set<string>): Promise<void> {
  const names = posix
    .normalize(`/${path}`)
    .split("/")
    .filter((name) => name !== "");
  let current = ".";
  for (const [index, name] of names.entries()) {
    current = posix.join(current, name);
    const targets = await targetsOf(root, current);
    if (targets.length === 0) continue;
    if (found.has(current)) return;
    found.add(current);
    for (const target of targets) await follow(root, posix.join(target, ...names.slice(index + 1)), found);
    return;
  }
  found.add(current);
}

/** Targets of the links at a path, which may be a pattern. */
async function targetsOf(root: string, path: string): Promise<readonly string[]> {
  const folder = posix.dirname(path);
  const base = posix.basename(path);
  if (!isWild(base)) return await linkOf(root, path);
  const expression = expressionOf(base);
  const names = await readdir(join(root, folder)).catch(nothingThere);
  const targets: string[] = [];
  for (const name of names.filter((candidate) => expression.test(candidate))) {
    targets.push(...(await linkOf(root, posix.join(folder, name))));
  }
  return targets;
}

async function linkOf(root: string, path: string): Promise<readonly string[]> {
  const file = join(root, path);
  try {
    if (!(await lstat(file)).isSymbolicLink()) return [];
    return [posix.resolve("/", posix.dirname(path), await readlink(file))];
  } catch (cause) {
    return nothingThere(cause);
  }
}

function nothingThere(cause: unknown): string[] {
  if (hasCode(cause, "ENOENT") || hasCode(cause, "ENOTDIR")) return [];
  throw cause;
}
