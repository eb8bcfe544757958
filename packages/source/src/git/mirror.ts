import { createHash } from "node:crypto";
import { lstat, mkdir, mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { DomainError } from "@berth/core";
import { formatGitUrl, type GitRevision } from "@berth/core/source";
import { run } from "@berth/host";
import type { ArchiveContent } from "./archive-entries.ts";
import { exceededLimit, LimitExceeded, MirrorDamaged, REMOTE, type Remote, remoteGit } from "./fetch.ts";
import { GIT_GRACE_SECONDS, type GitContext, gitArgv, LOCAL_CONFIG, localGit } from "./git-context.ts";
import { localGitEnvironment } from "./git-session.ts";
import { removeLeftovers } from "./leftovers.ts";
import { unpackTar } from "./unpack.ts";

/**
 * Folder of a repository's mirror: one for each address and owner, since it contains commits that the server may not
 * give to everyone.
 */
export function mirrorFolder(folder: string, { url, cacheOwner }: Pick<Remote, "url" | "cacheOwner">): string {
  const name = createHash("sha256")
    .update(JSON.stringify([formatGitUrl(url), cacheOwner]))
    .digest("hex")
    .slice(0, 40);
  return join(mirrorsFolder(folder), name);
}

const mirrorsFolder = (folder: string): string => join(folder, "mirrors");

/** Removes mirrors that were not used for long; a repository that is used again is fetched anew. */
export async function removeUnusedMirrors(folder: string): Promise<void> {
  const mirrors = mirrorsFolder(folder);
  await mkdir(mirrors, { recursive: true, mode: 0o700 });
  await removeLeftovers(mirrors, "", MIRROR_KEPT_SECONDS);
}

/** Longer than the usual time between two deployments of an active project. */
const MIRROR_KEPT_SECONDS = 30 * 24 * 3600;

/** The revision to find in a repository. */
export interface WantedRevision {
  /** Branch, tag or commit; `null`: the repository's default branch. */
  readonly ref: string | null;
  readonly revision: GitRevision;
}

export interface FoundCommit {
  /** Full object id. */
  readonly commit: string;
  /** First line of the commit's message. */
  readonly message: string | null;
}

/**
 * Updates the mirror and finds the commit in it.
 * @throws DomainError `source.*`, `engine.failed`; MirrorDamaged
 */
export async function fetchCommit(context: GitContext, remote: Remote, wanted: WantedRevision): Promise<FoundCommit> {
  const mirror = mirrorFolder(context.place.folder, remote);
  await makeMirror(context, mirror);
  // A fetch without news changes no file, so the time is set: it shows when the mirror was last used.
  await utimes(mirror, new Date(), new Date());
  const special = wanted.ref === null || wanted.ref.startsWith("refs/heads/") ? [] : [`+${wanted.ref}:${wanted.ref}`];
  const refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", ...special];
  try {
    await fetchRefs(context, remote, mirror, refspecs);
    return await resolve(context, remote, mirror, wanted);
  } catch (error) {
    if (!(error instanceof LimitExceeded)) throw error;
    await discardMirror(context, remote);
    throw new DomainError("source.invalid", `${formatGitUrl(remote.url)} ${error.message}`, { cause: error });
  }
}

/**
 * Writes the files of a commit into an empty folder. Submodules become empty folders.
 * @throws DomainError `source.invalid`, `request.too_large`, `deploy.cancelled`; MirrorDamaged
 */
export async function unpackCommit(
  context: GitContext,
  remote: Remote,
  commit: string,
  folder: string,
): Promise<ArchiveContent> {
  const mirror = mirrorFolder(context.place.folder, remote);
  const archive = new PassThrough();
  const [ran, unpacked] = await Promise.allSettled([
    run(gitArgv(context, [...LOCAL_CONFIG, `--git-dir=${mirror}`, "archive", "--format=tar", commit]), {
      env: localGitEnvironment(context.place),
      signal: context.io.signal,
      stdout: archive,
      timeoutSeconds: context.limits.fetchSeconds,
      graceSeconds: GIT_GRACE_SECONDS,
    }),
    unpackTar(archive, folder, context.limits).catch((error: unknown) => {
      archive.destroy(error instanceof Error ? error : undefined); // Closing its output ends git as well.
      throw error;
    }),
  ]);
  if (context.io.signal.aborted && ran.status === "rejected") throw ran.reason;
  // git's failure comes first: it cut the archive short, so the archive's own error is misleading.
  if (ran.status === "fulfilled" && ran.value.exitCode !== 0) throw new MirrorDamaged(ran.value.output);
  if (unpacked.status === "rejected") throw unpacked.reason;
  if (ran.status === "rejected") throw ran.reason;
  return unpacked.value;
}

/** Renamed first, so that another process never sees a half-removed mirror. */
export async function discardMirror(context: GitContext, remote: Remote): Promise<void> {
  const trash = join(context.place.folder, "tmp", `mirror-${process.pid}-${Date.now()}`);
  await rename(mirrorFolder(context.place.folder, remote), trash).catch(() => {}); // A missing mirror is fine.
  await rm(trash, { recursive: true, force: true });
}

/** Created elsewhere and renamed, so that another process finds either none or a complete one. */
async function makeMirror(context: GitContext, mirror: string): Promise<void> {
  if (
    await lstat(mirror).then(
      () => true,
      () => false,
    )
  )
    return;
  const made = await mkdtemp(join(context.place.folder, "tmp", "mirror-"));
  try {
    const { exitCode, output } = await run(
      gitArgv(context, [...LOCAL_CONFIG, "init", "--quiet", "--bare", "--template=", made]),
      {
        env: localGitEnvironment(context.place),
        signal: context.io.signal,
        timeoutSeconds: 60,
      },
    );
    if (exitCode !== 0) throw new MirrorDamaged(output);
    await mkdir(join(made, "info"), { recursive: true });
    // Includes files that `git archive` would leave out or rewrite.
    await writeFile(join(made, "info", "attributes"), "* -export-ignore -export-subst\n");
    await mkdir(dirname(mirror), { recursive: true, mode: 0o700 });
    await rename(made, mirror).catch((cause: unknown) => {
      if (!isTaken(cause)) throw cause;
    });
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** Another process created it first. */
const isTaken = (cause: unknown) =>
  cause instanceof Error && "code" in cause && (cause.code === "ENOTEMPTY" || cause.code === "EEXIST");

async function fetchRefs(
  context: GitContext,
  remote: Remote,
  mirror: string,
  refspecs: readonly string[],
): Promise<void> {
  const options = ["--prune", "--force", "--no-tags", "--no-write-fetch-head", "--progress", "--end-of-options"];
  await remoteGit(context, remote, mirror, ["fetch", ...options, REMOTE, ...refspecs]);
  const reason = await exceededLimit(mirror, context.limits);
  if (reason !== undefined) throw new LimitExceeded(reason);
}

async function resolve(
  context: GitContext,
  remote: Remote,
  mirror: string,
  wanted: WantedRevision,
): Promise<FoundCommit> {
  const { revision } = wanted;
  if (revision.type === "tip") return resolveTip(context, remote, mirror, wanted.ref);
  if (revision.type === "tag") {
    const commit = await commitOf(context, mirror, revision.ref);
    if (commit !== undefined) return commit;
    const name = revision.ref.slice("refs/tags/".length);
    throw unknown(remote, `no tag ${name}`, await names(context, mirror, "refs/tags"), "git_commit_sha");
  }
  return resolveSha(context, remote, mirror, revision.sha, revision.isFull);
}

async function resolveTip(
  context: GitContext,
  remote: Remote,
  mirror: string,
  ref: string | null,
): Promise<FoundCommit> {
  const found = ref ?? (await defaultBranch(context, remote, mirror));
  const commit = found === undefined ? undefined : await commitOf(context, mirror, found);
  if (commit !== undefined) return commit;
  const branches = await names(context, mirror, "refs/heads");
  if (branches.length === 0) {
    throw noCommits(remote);
  }
  const name = found === undefined ? "no default branch" : `no branch ${found.replace(/^refs\/heads\//, "")}`;
  throw unknown(remote, name, branches, "git_branch");
}

export const noCommits = ({ url }: Pick<Remote, "url">): DomainError =>
  new DomainError("source.not_found", `${formatGitUrl(url)} has no commits yet. Push one and deploy again.`);

/** Its full name; `undefined` for a repository without commits. Reads no mirror. */
export async function defaultBranch(context: GitContext, remote: Remote, mirror: string): Promise<string | undefined> {
  const answer = await remoteGit(context, remote, mirror, [
    "ls-remote",
    "--symref",
    "--end-of-options",
    REMOTE,
    "HEAD",
  ]);
  return /^ref: (refs\/heads\/\S+)\tHEAD$/m.exec(answer)?.[1];
}

async function resolveSha(
  context: GitContext,
  remote: Remote,
  mirror: string,
  sha: string,
  isFull: boolean,
): Promise<FoundCommit> {
  // A tag may look like a short object id and takes precedence.
  const known =
    (!isFull && (await commitOf(context, mirror, `refs/tags/${sha}`))) || (await commitOf(context, mirror, sha));
  if (known) return known;
  if (isFull) await fetchLooseCommit(context, remote, mirror, sha);
  const commit = isFull ? await commitOf(context, mirror, sha) : undefined;
  if (commit !== undefined) return commit;
  const hint = isFull ? "Check the id, and that it was pushed." : "Give more of its id: it is unknown or not unique.";
  throw new DomainError("source.not_found", `${formatGitUrl(remote.url)} has no commit ${sha}. ${hint}`);
}

/** Fetches a commit that no branch or tag contains. Many servers send it to clients that know its id. */
async function fetchLooseCommit(context: GitContext, remote: Remote, mirror: string, sha: string): Promise<void> {
  try {
    await fetchRefs(context, remote, mirror, [`+${sha}:refs/berth/commits/${sha}`]);
  } catch (error) {
    // Any other failure means that the commit is missing, since the fetch of the branches succeeded before.
    const isMissing = !(error instanceof MirrorDamaged || error instanceof LimitExceeded || context.io.signal.aborted);
    if (!isMissing) throw error;
  }
}

/** Asks for the id and the message at once, since each start of git costs some milliseconds. */
async function commitOf(context: GitContext, mirror: string, name: string): Promise<FoundCommit | undefined> {
  const options = ["-1", "--no-walk", "--no-show-signature", "--format=%H%n%B"];
  const { exitCode, stdout } = await localGit(context, mirror, ["log", ...options, `${name}^{commit}`, "--"]);
  if (exitCode !== 0) return undefined;
  const [commit = "", title = ""] = stdout.split("\n", 2);
  const message = title.replace(/\p{C}/gu, " ").trim();
  return { commit, message: message === "" ? null : message.slice(0, 500) };
}

/** Up to five, the newest first. */
async function names(context: GitContext, mirror: string, prefix: string): Promise<string[]> {
  const format = ["--count=5", "--sort=-creatordate", "--format=%(refname:lstrip=2)"];
  const { stdout } = await localGit(context, mirror, ["for-each-ref", ...format, prefix]);
  return stdout.split("\n").filter((line) => line !== "");
}

function unknown(remote: Remote, what: string, known: readonly string[], field: string): DomainError {
  const others = known.length === 0 ? "" : ` It has ${known.join(", ")}.`;
  return new DomainError("source.not_found", `${formatGitUrl(remote.url)} has ${what}.${others} Correct ${field}.`);
}
