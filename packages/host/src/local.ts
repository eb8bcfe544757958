import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { Argv } from "./argv.ts";
import { carriedEnv, gated } from "./carried-env.ts";
import { endGroup, type ProcessGroup } from "./group.ts";
import { collectOutput } from "./output.ts";
import { pidsWithEnv } from "./procfs.ts";
import { checkFolder, exitCodeOf, pidOf, spawnAs } from "./spawn.ts";
import type { Identity } from "./user.ts";

export interface RunOptions extends Identity {
  /** The child's whole environment: nothing of ours is inherited. Has PATH unless the program is a full path. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Variables of a user, for the program alone: whatever they are, those that start it obey none of them. It starts once
   * `onStart` has returned, with an empty standard input. Needed with a sandbox.
   */
  readonly programEnv?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: string | Uint8Array | Readable | undefined;
  /** Takes standard output as bytes, with back-pressure, instead of `onLine` and `output`; ended when it is whole. */
  readonly stdout?: Writable | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Between asking the group to end and killing it. Default 3: a cancelled build has to be gone within 5. */
  readonly graceSeconds?: number | undefined;
  readonly onLine?: ((line: string, stream: "stdout" | "stderr") => void) | undefined;
  /** How much of the beginning of the output is kept for `output`. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /** `NAME=value` of `env` that marks this run alone: what left the process group is found by it and ended too. */
  readonly marker?: string | undefined;
  /** Finds what belongs to this run alone by something else, e.g. a cgroup: it is ended too. */
  readonly others?: (() => readonly number[]) | undefined;
  /** Told once the program runs and before it gets any of `stdin`, e.g. to put it in a cgroup. */
  readonly onStart?: ((pid: number) => void) | undefined;
}

export interface RunResult {
  /** 128 + signal when a signal ended it, 124 after a timeout, 126 or 127 when it could not be executed. */
  readonly exitCode: number;
  /** Standard output and error in the order they came, cut to `maxOutputBytes`. */
  readonly output: string;
  readonly isTruncated: boolean;
  readonly isTimedOut: boolean;
}

/**
 * Runs a program to its end; resolves when every process of its group is gone too. A non-zero exit is a result, not an
 * error, and so is a timeout.
 *
 * @throws DomainError `deploy.cancelled` after an abort, once everything has ended; `engine.failed` when the program or
 *   the folder to run in does not exist or is closed to `user`, or `stdin` or `stdout` breaks.
 */
export async function run(argv: Argv, options: RunOptions): Promise<RunResult> {
  if (options.programEnv === undefined) return runWith(argv, options);
  const env = { ...options.env, ...carriedEnv(options.programEnv) };
  return runWith(gated(argv), { ...options, env, stdin: "go\n" });
}

async function runWith(argv: Argv, options: RunOptions): Promise<RunResult> {
  // Without a user nothing is waited for: `stdin` may break at any time.
  if (options.user !== undefined) await checkFolder(argv, options);
  if (isAborted(options.signal)) throw cancelled();
  const child = spawnAs(argv, options, [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]);
  const output = collectOutput(child, options);
  const pid = await pidOf(child, argv, options.cwd);
  options.onStart?.(pid);
  const group: ProcessGroup = { groupId: pid, others: othersOf(options) };
  const broken = brokenStream(child, options);
  const stop = AbortSignal.any([broken.signal, ...(options.signal === undefined ? [] : [options.signal])]);

  const end = await firstEnd(child, stop, options.timeoutSeconds);
  await endGroup(group, options.graceSeconds ?? 3);
  const exitCode = await exitCodeOf(child);
  await output.drained();
  if (end === "stopped" && isAborted(options.signal)) throw cancelled();
  await broken.settled;
  if (broken.signal.aborted) throw brokenError(argv, broken.signal.reason);
  return { ...output.kept(), exitCode: end === "timeout" ? 124 : exitCode, isTimedOut: end === "timeout" };
}

function othersOf({ marker, others }: RunOptions): ProcessGroup["others"] {
  if (marker === undefined) return others;
  return () => [...new Set([...pidsWithEnv(marker), ...(others?.() ?? [])])];
}

function firstEnd(
  child: ChildProcess,
  stop: AbortSignal,
  timeoutSeconds: number | undefined,
): Promise<"exited" | "stopped" | "timeout"> {
  return new Promise((resolve) => {
    const timer = timeoutSeconds === undefined ? undefined : setTimeout(settle, timeoutSeconds * 1000, "timeout");
    const onStop = () => settle("stopped");
    function settle(end: "exited" | "stopped" | "timeout"): void {
      clearTimeout(timer);
      stop.removeEventListener("abort", onStop);
      resolve(end);
    }
    stop.addEventListener("abort", onStop);
    if (stop.aborted) settle("stopped");
    void exitCodeOf(child).then(() => settle("exited"));
  });
}

/** A stream of the caller's that breaks: the program must not take half an input for a whole one. */
interface BrokenStream {
  readonly signal: AbortSignal;
  readonly settled: Promise<unknown>;
}

function brokenStream(child: ChildProcess, options: RunOptions): BrokenStream {
  const broken = new AbortController();
  const { stdin, stdout } = options;
  const work: Promise<void>[] = [];
  if (child.stdin !== null) {
    // A program need not read its input to the end.
    child.stdin.on("error", () => {});
    if (typeof stdin === "object" && !(stdin instanceof Uint8Array)) {
      stdin.once("error", (cause) => broken.abort(cause));
      stdin.pipe(child.stdin);
    } else child.stdin.end(stdin);
  }
  if (stdout !== undefined && child.stdout !== null) {
    work.push(pipeline(child.stdout, stdout).catch((cause: unknown) => broken.abort(cause)));
  }
  return { signal: broken.signal, settled: Promise.all(work) };
}

function brokenError(argv: Argv, cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  return new DomainError("engine.failed", `The input or output of ${argv[0]} broke off. Try again.`, { cause });
}

const isAborted = (signal: AbortSignal | undefined) => signal?.aborted === true;

const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");
