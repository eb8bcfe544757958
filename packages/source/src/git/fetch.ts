import { opendir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { GitCredentials } from "@berth/core/ports";
import { formatGitUrl, type GitUrl } from "@berth/core/source";
import { run } from "@berth/host";
import { type ReachedAddress, reach } from "./address.ts";
import { collector, GIT_GRACE_SECONDS, type GitContext, gitArgv, type SourceLimits } from "./git-context.ts";
import { gitFailure } from "./git-error.ts";
import { credentialsAt, type GitSession, type SentCredentials, withGitSession } from "./git-session.ts";
import { withGuardedHttp } from "./guarded-http.ts";
import { redirectTarget } from "./redirect.ts";

/** A repository with its credentials. */
export interface Remote {
  readonly url: GitUrl;
  /** As in `SourceSpec`: the mirror is used for this owner alone. */
  readonly cacheOwner: string;
  readonly credentials: GitCredentials | undefined;
}

/** The local mirror is damaged and must be created anew. */
export class MirrorDamaged extends Error {
  override readonly name = "MirrorDamaged";
}

/** The repository exceeds a limit. The mirror contains what arrived by then, and must be discarded. */
export class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";
}

const REDIRECTS_MAX = 5;
const LOCK_TRIES = 4; // git itself waits up to a second for each.
const LOCK_DELAY_MS = 200;

/**
 * Runs a git command that contacts a remote. Redirects are followed here, and each target is checked.
 * @param args Arguments, with `REMOTE` in place of the remote's address.
 * @returns Standard output of the command.
 * @throws DomainError `source.*`, `engine.failed`; MirrorDamaged; LimitExceeded
 */
export async function remoteGit(
  context: GitContext,
  remote: Remote,
  mirror: string,
  args: readonly string[],
): Promise<string> {
  let { url } = remote;
  let lockTries = 0;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; ) {
    const credentials = credentialsAt(url, remote.credentials);
    const address =
      url.scheme === "file" ? undefined : await reach(url, context.allowedPrivateHosts, context.io.signal);
    const { exitCode, stdout, stderr } = await attempt(context, { url, address, credentials, mirror, args });
    if (exitCode === 0) return stdout;
    const failure = gitFailure({ url, hasCredentials: credentials !== undefined, stderr });
    if (failure.type === "error") throw failure.error;
    if (failure.type === "damaged") throw new MirrorDamaged(stderr.join("\n"));
    if (failure.type === "locked") {
      if (++lockTries >= LOCK_TRIES) throw new MirrorDamaged("A lock in the mirror is never released.");
      await delay(LOCK_DELAY_MS * 2 ** (lockTries - 1), undefined, { signal: context.io.signal });
      continue;
    }
    if (address === undefined) break;
    const from = url;
    url = await withGuardedHttp(context.allowedPrivateHosts, context.io.signal, (http) => redirectTarget(from, http));
    context.io.onLine(`Redirected to ${formatGitUrl(url)}`, "stdout");
    redirects += 1;
  }
  throw new DomainError(
    "source.not_found",
    `${remote.url.host} redirects in a circle. Check the repository's address.`,
  );
}

export const REMOTE = "\0remote";

interface Attempt {
  readonly url: GitUrl;
  readonly credentials: SentCredentials | undefined;
  readonly address: ReachedAddress | undefined;
  readonly mirror: string;
  readonly args: readonly string[];
}

async function attempt(context: GitContext, { url, address, credentials, mirror, args }: Attempt) {
  const { io, limits, place } = context;
  const stdout = collector(1 << 20);
  const stderr = lineKeeper();
  const size = watchSize(mirror, limits, (line) => io.onLine(line, "stdout"));
  try {
    const result = await withGitSession(place, url, address, credentials, (session) =>
      run(gitArgv(context, remoteArgs(session, mirror, args)), {
        env: session.env,
        signal: AbortSignal.any([io.signal, size.exceeded]),
        stdout: stdout.stream,
        timeoutSeconds: limits.fetchSeconds,
        graceSeconds: GIT_GRACE_SECONDS,
        onLine: (line, stream) => {
          if (stream === "stderr") stderr.add(line);
          if (isProgress(line)) io.onLine(line, "stdout");
        },
      }),
    );
    if (!result.isTimedOut) return { exitCode: result.exitCode, stdout: stdout.text(), stderr: stderr.lines() };
  } catch (error) {
    if (isDomainError(error, "deploy.cancelled") && size.exceeded.aborted && !io.signal.aborted) {
      throw new LimitExceeded(size.exceeded.reason, { cause: error });
    }
    throw error;
  } finally {
    size.stop();
  }
  throw new DomainError(
    "source.unreachable",
    `${formatGitUrl(url)} was not fetched within ${limits.fetchSeconds} seconds. Try again later.`,
  );
}

const FIRST_LINES = 50;
const LAST_LINES = 200;
const LINE_LENGTH_MAX = 2000;

/** Keeps the first and last lines, and the beginning of each: the output of git and the server can be endless. */
export function lineKeeper() {
  const first: string[] = [];
  const last: string[] = [];
  return {
    add(line: string): void {
      const kept = line.slice(0, LINE_LENGTH_MAX);
      if (first.length < FIRST_LINES) {
        first.push(kept);
        return;
      }
      last.push(kept);
      if (last.length > LAST_LINES) last.shift();
    },
    lines: (): string[] => [...first, ...last],
  };
}

const remoteArgs = (session: GitSession, mirror: string, args: readonly string[]) => [
  ...session.config,
  `--git-dir=${mirror}`,
  ...args.map((arg) => (arg === REMOTE ? session.remote : arg)),
];

/** git prints a progress bar for each phase, of which only the last state arrives here. */
const isProgress = (line: string) => /^(remote: )?(Counting|Compressing|Receiving|Resolving|Updating)\b/.test(line);

const MEBIBYTE = 1 << 20;
const WATCH_MS = 500;
const TELL_SECONDS = 5;

/** git cannot limit the size of a fetch, so the packs are measured while they grow. */
function watchSize(mirror: string, limits: SourceLimits, say: (line: string) => void) {
  const exceeded = new AbortController();
  let ticks = 0;
  let firstBytes: number | undefined;
  const timer = setInterval(() => void measure(), WATCH_MS);

  async function measure(): Promise<void> {
    const bytes = await packBytes(mirror);
    firstBytes ??= bytes;
    const reason = await exceededLimit(mirror, limits);
    if (reason !== undefined) exceeded.abort(reason);
    ticks += 1;
    if (bytes > firstBytes && ticks % ((TELL_SECONDS * 1000) / WATCH_MS) === 0) {
      say(`Received ${Math.round((bytes - firstBytes) / MEBIBYTE)} MiB so far`);
    }
  }

  return { exceeded: exceeded.signal, stop: () => clearInterval(timer) };
}

/** @returns The limit that the mirror exceeds and what to do, to follow the repository's address in a message. */
export async function exceededLimit(mirror: string, limits: SourceLimits): Promise<string | undefined> {
  if ((await packBytes(mirror)) > limits.repositoryBytes) {
    const size = Math.floor(limits.repositoryBytes / MEBIBYTE);
    return `is larger than ${size} MiB, the limit of a repository. Remove large files from its history.`;
  }
  if ((await countFiles(join(mirror, "refs"), limits.refs)) <= limits.refs) return undefined;
  return `has more than ${limits.refs} branches and tags, the limit of a repository. Remove old ones.`;
}

/** Counts files (git creates one for each new branch and tag), up to slightly more than `max`. */
async function countFiles(folder: string, max: number): Promise<number> {
  let count = 0;
  const folders = [folder];
  for (let next = folders.pop(); next !== undefined && count <= max; next = folders.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      if (entry.isDirectory()) folders.push(join(next, entry.name));
      else if (++count > max) break;
    }
  }
  return count;
}

/** Size of a mirror's packs, including unfinished ones; 0 when it does not exist yet. */
async function packBytes(mirror: string): Promise<number> {
  const folder = join(mirror, "objects", "pack");
  const names = await readdir(folder).catch(() => []);
  // A temporary file may be removed in between.
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
