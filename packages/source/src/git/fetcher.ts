import { createHash } from "node:crypto";
import { mkdir, realpath, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { DomainError } from "@berth/core";
import type { Checkout, GitCredentials, SourceFetcher, SourceSpec, WorkIO } from "@berth/core/ports";
import {
  basicCredentials,
  formatGitUrl,
  type GitUrl,
  parseGitRef,
  parseGitRevision,
  parseGitUrl,
  UPLOAD_LIMITS,
} from "@berth/core/source";
import type { PrivateHosts } from "@berth/host";
import type { ArchiveContent } from "./archive-entries.ts";
import { MirrorDamaged, type Remote } from "./fetch.ts";
import type { GitContext, SourceLimits } from "./git-context.ts";
import { prepareSessions } from "./git-session.ts";
import { fillLfs } from "./lfs.ts";
import { cancelled, keyedLocks } from "./locks.ts";
import {
  defaultBranch,
  discardMirror,
  type FoundCommit,
  fetchCommit,
  mirrorFolder,
  noCommits,
  removeUnusedMirrors,
  unpackCommit,
  type WantedRevision,
} from "./mirror.ts";
import { describeSubmodule, isPlainFolder, type Submodule, submodulesOf } from "./submodules.ts";
import { safeName, uploadStore } from "./uploads.ts";

export interface SourceFetcherOptions {
  /** Absolute path. Contains mirrors, checkouts and uploads; nobody else may read it. */
  readonly folder: string;
  /** Whether `file://` is allowed: only where the control plane's own machine is the server. */
  readonly allowFileProtocol: boolean;
  /** Folders that `file://` must not access, e.g. the data folder. `folder` is always one of them. */
  readonly privateFolders?: readonly string[];
  /** Private hosts that may be contacted. Default: none. */
  readonly allowedPrivateHosts?: PrivateHosts;
  readonly limits?: Partial<SourceLimits>;
  /** PATH in which git and ssh are looked up. Default: the system's folders. */
  readonly path?: string;
}

export const SOURCE_LIMITS: SourceLimits = {
  entries: UPLOAD_LIMITS.entries,
  unpackedBytes: UPLOAD_LIMITS.unpackedBytes,
  repositoryBytes: 2 * 2 ** 30,
  fetchSeconds: 1800,
  gitMemoryBytes: 2 * 2 ** 30,
  refs: 100_000,
  uploadBytes: UPLOAD_LIMITS.archiveBytes,
};

const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SUBMODULE_DEPTH_MAX = 10;
const SWEEP_MS = 24 * 3600 * 1000;
const ASK_SECONDS = 30; // A person waits for the answer.
const SESSION_SPARE_SECONDS = 300; // Time to start git and to end it.

/** Fetches sources with the system's git. Uploads need no git. */
export function sourceFetcher(options: SourceFetcherOptions): SourceFetcher {
  const limits = { ...SOURCE_LIMITS, ...options.limits };
  const uploads = uploadStore(join(options.folder, "uploads"), limits);
  const locks = keyedLocks();
  let sweptAt = Number.NEGATIVE_INFINITY;
  const checkoutFolder = (deploymentUuid: string) => join(options.folder, "checkouts", safeName(deploymentUuid));
  const removeCheckout = (deploymentUuid: string) => removeFolder(checkoutFolder(deploymentUuid));

  async function checkout(spec: SourceSpec, deploymentUuid: string, io: WorkIO): Promise<Checkout> {
    const folder = checkoutFolder(deploymentUuid);
    try {
      if (io.signal.aborted) throw cancelled();
      await removeFolder(folder);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return { folder, ...(await fill(spec, folder, io)) };
    } catch (error) {
      await removeFolder(folder);
      throw io.signal.aborted ? cancelled(error) : asDomainError(error);
    }
  }

  async function askDefaultBranch(repository: string, signal: AbortSignal): Promise<string> {
    const remote = remoteOf({ type: "git", repository, branch: "HEAD", commit: "HEAD", cacheOwner: "" });
    await checkFileProtocol(options, remote.url);
    const context = contextOf({ signal, onLine: () => undefined }, { ...limits, fetchSeconds: ASK_SECONDS });
    await prepareSessions(context.place, limits.fetchSeconds + SESSION_SPARE_SECONDS);
    const ref = await defaultBranch(context, remote, mirrorFolder(options.folder, remote));
    if (ref === undefined) throw noCommits(remote);
    return ref.replace(/^refs\/heads\//, "");
  }

  const contextOf = (io: WorkIO, inner: SourceLimits): GitContext => ({
    place: { folder: options.folder, path: options.path ?? SYSTEM_PATH },
    limits: inner,
    io,
    allowedPrivateHosts: options.allowedPrivateHosts ?? [],
  });

  async function fill(spec: SourceSpec, folder: string, io: WorkIO): Promise<FoundCommit> {
    if (spec.type === "none") return { commit: "HEAD", message: null };
    if (spec.type === "upload") {
      const { commit } = await uploads.unpack(spec.resourceUuid, spec.commit, folder);
      io.onLine(`Unpacked the upload ${commit.slice(0, 12)}`, "stdout");
      return { commit, message: null };
    }
    const remote = remoteOf(spec);
    const wanted = { ref: parseGitRef(spec.branch), revision: parseGitRevision(spec.commit) };
    const context = contextOf(io, limits);
    await checkFileProtocol(options, remote.url);
    await prepareSessions(context.place, limits.fetchSeconds + SESSION_SPARE_SECONDS);
    await sweepMirrors();
    io.onLine(`Fetching ${formatGitUrl(remote.url)}`, "stdout");
    const filled = await fillFromGit(context, remote, wanted, folder);
    const { found } = filled;
    io.onLine(`Commit ${found.commit.slice(0, 12)}${found.message === null ? "" : `: ${found.message}`}`, "stdout");
    await fillSubmodules(context, remote, filled, folder);
    return found;
  }

  async function sweepMirrors(): Promise<void> {
    if (performance.now() - sweptAt < SWEEP_MS) return;
    sweptAt = performance.now();
    await removeUnusedMirrors(options.folder);
  }

  /** Serialised for each mirror, so that none is discarded while it is being read. */
  function fillFromGit(context: GitContext, remote: Remote, wanted: WantedRevision, folder: string): Promise<Filled> {
    return locks(mirrorFolder(options.folder, remote), context.io.signal, async () => {
      try {
        return await tryFillFromGit(context, remote, wanted, folder);
      } catch (error) {
        if (!(error instanceof MirrorDamaged)) throw error;
        context.io.onLine("The local copy of the repository is damaged: fetching it anew", "stderr");
        await discardMirror(context, remote);
        await removeFolder(folder);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        return tryFillFromGit(context, remote, wanted, folder);
      }
    });
  }

  /** @returns The remaining limits, which a repository shares with its submodules. */
  async function fillSubmodules(
    context: GitContext,
    parent: Remote,
    filled: Filled,
    folder: string,
    depth = 1,
  ): Promise<SourceLimits> {
    let left = remaining(context.limits, filled.content);
    if (filled.submodules.length > 0 && depth > SUBMODULE_DEPTH_MAX) {
      throw new DomainError("source.invalid", `Submodules are nested more than ${SUBMODULE_DEPTH_MAX} levels deep.`);
    }
    for (const submodule of filled.submodules) {
      const { path, url, commit } = submodule;
      context.io.onLine(describeSubmodule(submodule), "stdout");
      await checkFileProtocol(options, url);
      if (!(await isPlainFolder(folder, path))) {
        throw new DomainError("source.invalid", `The submodule "${path}" lies behind a symbolic link. Move it.`);
      }
      const remote = { url, credentials: credentialsFor(url, parent), cacheOwner: parent.cacheOwner };
      const wanted: WantedRevision = { ref: null, revision: { type: "sha", sha: commit, isFull: true } };
      const inner = { ...context, limits: left };
      const within = await fillFromGit(inner, remote, wanted, join(folder, path));
      left = await fillSubmodules(inner, remote, within, join(folder, path), depth + 1);
    }
    return left;
  }

  return {
    checkout,
    defaultBranch: (repository, signal) =>
      askDefaultBranch(repository, signal).catch((error: unknown) => {
        throw asDomainError(error);
      }),
    removeCheckout,
    saveUpload: (resourceUuid, archive) => uploads.save(resourceUuid, archive),
    removeResource: (resourceUuid) => uploads.remove(resourceUuid),
  };
}

interface Filled {
  readonly found: FoundCommit;
  readonly content: ArchiveContent;
  readonly submodules: readonly Submodule[];
}

async function tryFillFromGit(
  context: GitContext,
  remote: Remote,
  wanted: WantedRevision,
  folder: string,
): Promise<Filled> {
  const found = await fetchCommit(context, remote, wanted);
  const unpacked = await unpackCommit(context, remote, found.commit, folder);
  const lfsBytes = await fillLfs(context, remote, found.commit, folder, unpacked);
  const content = { ...unpacked, unpackedBytes: unpacked.unpackedBytes + lfsBytes };
  const submodules = hasSubmodules(content) ? await submodulesOf(context, remote, found.commit) : [];
  return { found, content, submodules };
}

const remaining = (limits: SourceLimits, { files, unpackedBytes }: ArchiveContent): SourceLimits => ({
  ...limits,
  entries: limits.entries - files.size,
  unpackedBytes: limits.unpackedBytes - unpackedBytes,
});

const hasSubmodules = ({ files }: ArchiveContent) => files.has(".gitmodules");

/** A login inside the address is removed from it, and used unless another one is given. */
function remoteOf(spec: Extract<SourceSpec, { type: "git" }>): Remote {
  const url = parseGitUrl(spec.repository);
  const { cacheOwner } = spec;
  const isHttp = url.scheme === "https" || url.scheme === "http";
  if (!isHttp) return { url, cacheOwner, credentials: url.scheme === "ssh" ? sshOnly(spec.credentials) : undefined };
  const written =
    url.username === null && url.password === null
      ? undefined
      : basicCredentials([formatGitUrl(url)], { username: url.username ?? "", password: url.password ?? "" });
  const given = spec.credentials?.type === "basic" ? spec.credentials : undefined;
  const plain = { ...url, username: null, password: null };
  // A login in the address is a credential without a record.
  const owner =
    written === undefined ? cacheOwner : `${cacheOwner}, login ${sha256(`${url.username}:${url.password}`)}`;
  return { url: plain, cacheOwner: owner, credentials: given ?? written };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const sshOnly = (credentials: GitCredentials | undefined) => (credentials?.type === "ssh" ? credentials : undefined);

/** A login is sent to its own origin only. A key reveals nothing to another host, so it is tried there as well. */
const credentialsFor = (url: GitUrl, { credentials }: Remote): GitCredentials | undefined =>
  credentials?.type === "ssh" && url.scheme !== "ssh" ? undefined : credentials;

async function checkFileProtocol(options: SourceFetcherOptions, url: GitUrl): Promise<void> {
  if (url.scheme !== "file") return;
  if (!options.allowFileProtocol) {
    throw new DomainError("source.invalid", "file:// is for applications of the local server only. Use https or ssh.");
  }
  const path = decodeURIComponent(url.path);
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined)
    throw new DomainError("source.not_found", `Folder ${path} does not exist. Check the address.`);
  for (const folder of [options.folder, ...(options.privateFolders ?? [])]) {
    const own = await realpath(folder).catch(() => folder);
    const way = relative(own, real);
    if (way === "" || !(way === ".." || way.startsWith("../"))) {
      throw new DomainError(
        "source.invalid",
        "This folder belongs to the control plane. Use a repository of your own.",
      );
    }
  }
}

// Retries, since a pending write may still create files in the folder.
const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true, maxRetries: 5 });

function asDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  const reason = error instanceof Error && "code" in error ? ` (${error.code})` : "";
  return new DomainError("engine.failed", `The source could not be fetched${reason}. Look at the server's log.`, {
    cause: error,
  });
}
