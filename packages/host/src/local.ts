import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { Argv } from "./argv.ts";
import { carriedEnv, gatedArgv } from "./carried-env.ts";
import { endGroup, type ProcessGroup } from "./group.ts";
import { collectOutput } from "./output.ts";
import { pidsWithEnv } from "./procfs.ts";
import type { Program } from "./program.ts";
import { checkFolder, spawnAs } from "./spawn.ts";
import type { Identity } from "./user.ts";

export interface RunOptions extends Identity {
  /** The child's whole environment: nothing of ours is inherited. Needs PATH unless the program is a full path. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Variables of a user, set for the program only and not for the programs that start it. The program starts after
   * it has joined its groups, with an empty standard input. Required with a sandbox.
   */
  readonly programEnv?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: string | Uint8Array | Readable | undefined;
  /**
   * Receives standard output as bytes, with back-pressure, instead of `onLine` and `output`; ended after the last
   * byte.
   */
  readonly stdout?: Writable | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Time between asking the group to exit and killing it. Default 3: a cancelled build must end within 5 seconds. */
  readonly graceSeconds?: number | undefined;
  readonly onLine?: ((line: string, stream: "stdout" | "stderr") => void) | undefined;
  /** Size of the beginning of the output that is returned as `output`. Default 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * A `NAME=value` of `env` unique to this run, by which processes that left the group are found and ended where
   * `members` has no list.
   */
  readonly marker?: string | undefined;
  /** Lists the processes of this run, e.g. those in its cgroup; `undefined` where nothing keeps such a list. */
  readonly members?: (() => readonly number[] | undefined) | undefined;
  /** `cgroup.procs` of each group that the program joins once it runs and before it receives `stdin`. */
  readonly cgroupFiles?: readonly string[] | undefined;
  /** Called once the program runs and before it receives `stdin`. */
  readonly onStart?: ((pid: number) => void) | undefined;
}

export interface RunResult {
  /** 128 + signal when a signal ended it, 124 after a timeout, 126 or 127 when it could not be executed. */
  readonly exitCode: number;
  /** Standard output and error in order of arrival, cut to `maxOutputBytes`. */
  readonly output: string;
  readonly isTruncated: boolean;
  readonly isTimedOut: boolean;
}

/**
 * Runs a program and resolves when all processes of its group have exited. A non-zero exit code or a timeout is a
 * result, not an error.
 *
 * @throws DomainError `deploy.cancelled` after an abort, once everything has ended; `engine.failed` when the program
 *   or the working directory does not exist or is closed to `user`, when `stdin` or `stdout` fails, or when what started
 *   the program is gone.
 */
export async function run(argv: Argv, options: RunOptions): Promise<RunResult> {
  if (options.programEnv === undefined) return runWith(argv, options);
  const env = { ...options.env, ...carriedEnv(options.programEnv) };
  const result = await runWith(gatedArgv(argv), { ...options, env, stdin: "go\n" });
  // Looked at afterwards, since that costs a process: only this code may be of the folder instead of the program.
  if (result.exitCode === NOT_ENTERED) await checkFolder(argv, options);
  return result;
}

const NOT_ENTERED = 125; // Of `env --chdir`.

async function runWith(argv: Argv, options: RunOptions): Promise<RunResult> {
  // Before anything is awaited: `stdin` may fail at any time.
  const streams = ownStreams(options);
  if (options.user !== undefined && options.programEnv === undefined) await checkFolder(argv, options);
  if (isAborted(options.signal)) throw cancelled();
  const program = await spawnAs(argv, options, [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"]);
  const output = collectOutput(program, options);
  const { pid } = program;
  const group: ProcessGroup = { groupId: pid, all: options.members, others: othersOf(options) };
  options.onStart?.(pid);
  await program.joined.catch((cause: unknown) => endedBy({ groupId: pid, others: group.others }, cause));
  const moved = streams.connect(program);
  const stop = AbortSignal.any([streams.broken, ...(options.signal === undefined ? [] : [options.signal])]);

  const end = await firstEnd(program, stop, options.timeoutSeconds);
  await endGroup(group, options.graceSeconds ?? 3);
  const exitCode = await program.exitCode;
  await output.drained();
  if (end === "stopped" && isAborted(options.signal)) throw cancelled();
  await moved;
  if (streams.broken.aborted) throw brokenError(argv, streams.broken.reason);
  return { ...output.kept(), exitCode: end === "timeout" ? 124 : exitCode, isTimedOut: end === "timeout" };
}

/** Its program has not started yet, nor has it joined what lists its processes. */
async function endedBy(group: ProcessGroup, cause: unknown): Promise<never> {
  await endGroup(group, 0);
  throw cause;
}

const othersOf = ({ marker }: RunOptions): ProcessGroup["others"] =>
  marker === undefined ? undefined : () => pidsWithEnv(marker);

function firstEnd(
  { exitCode }: Program,
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
    const onExit = () => settle("exited");
    exitCode.then(onExit, onExit);
  });
}

/** Streams of the caller: if one fails, the program must not take a part of the input for all of it. */
interface OwnStreams {
  readonly broken: AbortSignal;
  /** Resolves when all output has been handed on. */
  connect(program: Program): Promise<unknown>;
}

function ownStreams({ stdin, stdout }: RunOptions): OwnStreams {
  const broken = new AbortController();
  if (stdin instanceof Readable) stdin.once("error", (cause) => broken.abort(cause));
  return {
    broken: broken.signal,
    async connect(program) {
      if (program.stdin !== null) {
        if (stdin instanceof Readable) stdin.pipe(program.stdin);
        else program.stdin.end(stdin);
      }
      if (stdout === undefined || program.stdout === null) return;
      await pipeline(program.stdout, stdout).catch((cause: unknown) => broken.abort(cause));
    },
  };
}

function brokenError(argv: Argv, cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  return new DomainError("engine.failed", `The input or output of ${argv[0]} broke off. Try again.`, { cause });
}

const isAborted = (signal: AbortSignal | undefined) => signal?.aborted === true;

const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");
