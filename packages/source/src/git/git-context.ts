import { Writable } from "node:stream";
import type { WorkIO } from "@berth/core/ports";
import type { PrivateHosts } from "@berth/host";
import { type Argv, type RunResult, run, systemProgram } from "@berth/host";
import type { ArchiveLimits } from "./archive-entries.ts";
import { configArguments, localGitEnvironment, type SessionPlace } from "./git-session.ts";

export interface SourceLimits extends ArchiveLimits {
  /** Packed size of one repository's mirror. */
  readonly repositoryBytes: number;
  /** Time limit for one exchange with a repository's server. */
  readonly fetchSeconds: number;
  /** Memory limit of one git process, since the server determines how much it needs. */
  readonly gitMemoryBytes: number;
  /** Number of branches and tags of one repository. */
  readonly refs: number;
  /** Size of an uploaded archive, as it was sent. */
  readonly uploadBytes: number;
}

/** Context shared by all steps of one checkout. */
export interface GitContext {
  readonly place: SessionPlace;
  readonly limits: SourceLimits;
  readonly allowedPrivateHosts: PrivateHosts;
  readonly io: WorkIO;
}

export interface GitAnswer extends RunResult {
  readonly stdout: string;
}

const LOCAL_SECONDS_MAX = 600;
const STDOUT_BYTES_MAX = 4 << 20;
export const GIT_GRACE_SECONDS = 2; // git removes its temporary files when it receives SIGTERM.

/** Runs git on a mirror, without network. Returns the first 4 MiB of its output. */
export async function localGit(context: GitContext, mirror: string, args: readonly string[]): Promise<GitAnswer> {
  const stdout = collector(STDOUT_BYTES_MAX);
  const result = await run(gitArgv(context, [...LOCAL_CONFIG, `--git-dir=${mirror}`, ...args]), {
    env: localGitEnvironment(context.place),
    signal: context.io.signal,
    stdout: stdout.stream,
    timeoutSeconds: LOCAL_SECONDS_MAX,
    graceSeconds: GIT_GRACE_SECONDS,
  });
  return { ...result, stdout: stdout.text() };
}

/** Limits git's memory, which git itself does not. Mapped files do not count. */
export const gitArgv = ({ limits }: Pick<GitContext, "limits">, args: readonly string[]): Argv =>
  process.platform === "linux"
    ? [systemProgram("prlimit"), `--data=${limits.gitMemoryBytes}`, "git", ...args]
    : ["git", ...args];

export const LOCAL_CONFIG = configArguments(undefined, undefined);

export function collector(bytesMax: number): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const part = chunk.subarray(0, bytesMax - bytes);
      bytes += part.length;
      chunks.push(part);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
}
