import type { Stats } from "node:fs";
import { lstat, readdir, readFile, readlink, realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, posix, relative, sep } from "node:path";
import { Failure, hasCode } from "../failure.ts";
import { dockerRules, gitRules, isNeverUploaded, isVariableFile, type Rules } from "./rules.ts";

/** A file, folder or link to upload. */
export interface Entry {
  /** Path relative to the uploaded folder. */
  readonly path: string;
  readonly stats: Stats;
  /** Relative target of a symbolic link. */
  readonly target?: string;
}

export interface Content {
  /** Parents before children, names sorted by code points: the same folder gives the same archive. */
  readonly entries: readonly Entry[];
  /** Total size of the files. */
  readonly sizeBytes: number;
  /** Entries that cannot be uploaded, with the reason. */
  readonly leftOut: readonly string[];
  /** Files of variables that are uploaded although no ignore file says so. */
  readonly variableFiles: readonly string[];
}

/** Rules that apply in a folder. */
interface Scope {
  /** `.berthignore` files, the nearest first. They take precedence. */
  readonly berth: readonly Rules[];
  /** `.gitignore` files, the nearest first. */
  readonly git: readonly Rules[];
  readonly docker: ReturnType<typeof dockerRules> | undefined;
}

/** @param folder Absolute path. */
export async function walk(folder: string): Promise<Content> {
  const root = await realpath(folder);
  const entries: Entry[] = [];
  const leftOut: string[] = [];
  const variableFiles: string[] = [];
  const above = await rulesAbove(root);
  const docker = await readIfThere(join(root, ".dockerignore"));

  async function visit(path: string, outer: Scope): Promise<void> {
    const scope = await scopeIn(root, path, outer);
    for (const name of await namesIn(join(root, path), path, leftOut)) {
      if (!isNeverUploaded(name)) await add(path === "" ? name : `${path}/${name}`, scope);
    }
  }

  async function add(path: string, scope: Scope): Promise<void> {
    const stats = await lstat(join(root, path));
    if (stats.isDirectory()) {
      const isKept = !isIgnored(`${path}/`, scope);
      if (isKept) entries.push({ path, stats });
      // An ignored folder may contain exceptions, but only by .dockerignore.
      if (isKept || mayHoldExceptions(path, scope)) await visit(path, narrowed(path, scope));
      return;
    }
    const decided = verdict(path, scope);
    if (decided === "ignored") return;
    if (decided === "undecided" && isVariableFile(path)) {
      // In a repository git has it, or shows it as one that is not ignored. Elsewhere nobody was asked.
      if (above === undefined) return void leftOut.push(`${path}: ${VARIABLE_FILE_LEFT_OUT}`);
      variableFiles.push(path);
    }
    if (stats.isFile()) entries.push({ path, stats });
    else if (stats.isSymbolicLink()) await addLink(path, stats);
    else leftOut.push(`${path}: neither a file, a folder nor a link`);
  }

  async function addLink(path: string, stats: Stats): Promise<void> {
    const target = await innerTarget(root, path);
    if (target === undefined) leftOut.push(`${path}: a link to a target outside of the folder`);
    else entries.push({ path, stats, target });
  }

  await visit("", { berth: [], git: above ?? [], docker: docker === undefined ? undefined : dockerRules(docker) });
  const sizeBytes = entries.reduce((sum, { stats }) => sum + (stats.isFile() ? stats.size : 0), 0);
  return { entries, sizeBytes, leftOut, variableFiles };
}

const VARIABLE_FILE_LEFT_OUT =
  "such a file mostly holds secrets. Set its variables with --env-file, or upload it by a line with ! and its name in .berthignore";

const isIgnored = (path: string, scope: Scope): boolean => verdict(path, scope) === "ignored";

function verdict(path: string, { berth, git, docker }: Scope): ReturnType<Rules["judge"]> {
  const decided = firstVerdict(path, berth);
  if (decided !== "undecided") return decided;
  const ofGit = firstVerdict(path, git);
  const ofDocker = docker?.judge(path) ?? "undecided";
  if (ofGit === "ignored" || ofDocker === "ignored") return "ignored";
  return ofGit === "undecided" ? ofDocker : ofGit;
}

function firstVerdict(path: string, rules: readonly Rules[]): ReturnType<Rules["judge"]> {
  for (const rule of rules) {
    const verdict = rule.judge(path);
    if (verdict !== "undecided") return verdict;
  }
  return "undecided";
}

const mayHoldExceptions = (path: string, { berth, git, docker }: Scope): boolean =>
  docker?.hasExceptions === true &&
  firstVerdict(`${path}/`, berth) !== "ignored" &&
  firstVerdict(`${path}/`, git) !== "ignored";

/** Drops rules that would ignore a folder which a nearer rule included: they do not apply to its content. */
function narrowed(path: string, { berth, git, docker }: Scope): Scope {
  const holds = (rules: Rules) => rules.judge(`${path}/`) !== "ignored";
  const isBroughtBack = firstVerdict(`${path}/`, berth) === "kept";
  return { berth: berth.filter(holds), git: git.filter(holds), docker: isBroughtBack ? undefined : docker };
}

async function scopeIn(root: string, path: string, outer: Scope): Promise<Scope> {
  const [git, berth] = await Promise.all([
    readIfThere(join(root, path, ".gitignore")),
    readIfThere(join(root, path, ".berthignore")),
  ]);
  return {
    ...outer,
    git: git === undefined ? outer.git : [gitRules(git, { base: path }), ...outer.git],
    berth: berth === undefined ? outer.berth : [gitRules(berth, { base: path }), ...outer.berth],
  };
}

/**
 * The `.gitignore` files between the folder and its repository's root: secrets that are kept out of git must not be
 * uploaded either. They are not used if they ignore the folder itself, as for a built `dist` that is deployed.
 *
 * @returns `undefined` if git does not decide what belongs to the folder
 */
async function rulesAbove(root: string): Promise<readonly Rules[] | undefined> {
  const rules: Rules[] = [];
  let folder = root;
  while (!(await isThere(join(folder, ".git")))) {
    const parent = dirname(folder);
    // The folder is not in a repository.
    if (parent === folder) return undefined;
    folder = parent;
    const above = relative(folder, root).split(sep).join("/");
    const text = await readIfThere(join(folder, ".gitignore"));
    if (text === undefined) continue;
    if (gitRules(text).judge(`${above}/`) === "ignored") return undefined;
    rules.push(gitRules(text, { above }));
  }
  return rules;
}

/** Sorted names. Those that an archive cannot contain are left out. */
async function namesIn(folder: string, path: string, leftOut: string[]): Promise<readonly string[]> {
  const names = await readdir(folder, { encoding: "buffer" }).catch((cause: unknown) => {
    throw new Failure(
      `${path || "The folder"} cannot be read. Change its permissions, or leave it out by .berthignore.`,
      {
        cause,
      },
    );
  });
  const texts = names.flatMap((name) => {
    const text = name.toString("utf8");
    if (Buffer.from(text, "utf8").equals(name)) return [text];
    leftOut.push(`${path === "" ? "" : `${path}/`}${text}: its name is not valid UTF-8`);
    return [];
  });
  return texts.sort((one, other) => (one < other ? -1 : 1));
}

/** @returns The target relative to the link, or `undefined` when it is outside of the folder. */
async function innerTarget(root: string, path: string): Promise<string | undefined> {
  const link = join(root, path);
  const target = await readlink(link);
  const isInside = (place: string) => place === root || place.startsWith(`${root}/`);
  const place = join(dirname(link), isAbsolute(target) ? relative(dirname(link), target) : target);
  if (!isInside(place)) return undefined;
  // Other links on the path may lead elsewhere; for a dangling link only the text can be checked.
  const real = await realpath(link).catch(() => place);
  if (!isInside(real)) return undefined;
  return isAbsolute(target) ? posix.relative(posix.dirname(link), target) || "." : target;
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).replace(/^\uFEFF/, "");
  } catch (cause) {
    // A folder with this name is not an ignore file.
    if (hasCode(cause, "ENOENT", "ENOTDIR", "EISDIR")) return undefined;
    throw new Failure(`${path} cannot be read.`, { cause });
  }
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );
