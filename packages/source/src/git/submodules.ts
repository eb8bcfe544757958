import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { formatGitUrl, type GitUrl, resolveGitUrl } from "@berth/core/source";
import type { Remote } from "./fetch.ts";
import { type GitContext, localGit } from "./git-context.ts";
import { mirrorFolder } from "./mirror.ts";

export interface Submodule {
  /** Path inside the repository. */
  readonly path: string;
  readonly url: GitUrl;
  /** Full object id that the repository records. */
  readonly commit: string;
}

const SUBMODULES_MAX = 100;

/**
 * The submodules of a commit, with addresses that obey the rules for the repository itself. As in git, entries of
 * .gitmodules that are not submodules in the tree are left out.
 * @throws DomainError `source.invalid`
 */
export async function submodulesOf(context: GitContext, remote: Remote, commit: string): Promise<readonly Submodule[]> {
  const { url: base } = remote;
  const mirror = mirrorFolder(context.place.folder, remote);
  // An include would read other files of this machine.
  const file = ["config", "--no-includes", "--blob", `${commit}:.gitmodules`, "--null", "--list"];
  const { exitCode, stdout } = await localGit(context, mirror, file);
  if (exitCode !== 0) throw new DomainError("source.invalid", "The file .gitmodules cannot be read. Correct it.");
  const listed = listedModules(stdout);
  if (listed.length > SUBMODULES_MAX) {
    throw new DomainError("source.invalid", `More than ${SUBMODULES_MAX} submodules are not fetched.`);
  }
  const found: Submodule[] = [];
  for (const { path: written, address } of listed) {
    const path = written.replace(/\/+$/, "");
    const wanted = await gitlinkOf(context, mirror, commit, path);
    if (wanted !== undefined) found.push({ path, url: addressOf(base, path, address), commit: wanted });
  }
  return found;
}

/** Parses `git config --null --list`: `submodule.NAME.path\nVALUE\0`, where a name may contain dots. */
export function listedModules(config: string): { readonly path: string; readonly address: string }[] {
  const modules = new Map<string, { path?: string; url?: string }>();
  for (const record of config.split("\0")) {
    const { 1: name, 2: key, 3: value } = /^submodule\.(.*)\.(path|url)\n(.*)$/s.exec(record) ?? [];
    if (name === undefined || key === undefined || value === undefined) continue;
    modules.set(name, { ...modules.get(name), [key]: value });
  }
  return [...modules.values()].flatMap(({ path, url }) =>
    path === undefined || url === undefined || path === "" ? [] : [{ path, address: url }],
  );
}

/** Whether a submodule's folder is a real folder of the checkout, and its path contains no link. */
export async function isPlainFolder(checkout: string, path: string): Promise<boolean> {
  let place = checkout;
  for (const part of path.split("/")) {
    if (part === "" || part === "." || part === "..") return false;
    place = join(place, part);
    const found = await lstat(place).catch(() => undefined);
    if (found === undefined || !found.isDirectory()) return false;
  }
  return true;
}

async function gitlinkOf(context: GitContext, mirror: string, commit: string, path: string) {
  if (/^[/-]|\n|(^|\/)\.\.?(\/|$)/.test(path)) throw refused(path, "has a path that leaves the repository");
  const { stdout } = await localGit(context, mirror, ["ls-tree", "-z", commit, "--", path]);
  return /^160000 commit ([0-9a-f]{40,64})\t/.exec(stdout)?.[1];
}

function addressOf(base: GitUrl, path: string, address: string): GitUrl {
  const url = resolveSafely(base, path, address);
  // A submodule of a remote repository must not read files of this machine.
  if (url.scheme === "file" && base.scheme !== "file") throw refused(path, "lies on the control plane's own disk");
  return url;
}

function resolveSafely(base: GitUrl, path: string, address: string): GitUrl {
  try {
    return resolveGitUrl(base, address);
  } catch (cause) {
    throw refused(path, "has an address that is not supported", cause);
  }
}

const refused = (path: string, problem: string, cause?: unknown) =>
  new DomainError(
    "source.invalid",
    `The submodule "${path.slice(0, 200).replace(/\p{C}/gu, "?")}" ${problem}. Use https, ssh or a relative address in .gitmodules.`,
    { cause },
  );

export const describeSubmodule = ({ path, url, commit }: Submodule): string =>
  `Submodule ${path} from ${formatGitUrl(url)} at ${commit.slice(0, 12)}`;
