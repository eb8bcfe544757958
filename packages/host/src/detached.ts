import { setTimeout as delay } from "node:timers/promises";
import type { Argv } from "./argv.ts";
import { commandLine, isOfUser, processStat } from "./procfs.ts";
import type { Stdio } from "./program.ts";
import { checkFolder, spawnAs } from "./spawn.ts";
import type { Identity } from "./user.ts";

export interface DetachedOptions extends Identity {
  /** The child's whole environment: nothing of ours is inherited. With a sandbox, use `carriedEnv`. */
  readonly env: Readonly<Record<string, string>>;
  /** Standard output and error are appended to this file, created with mode 0600. Default: they are discarded. */
  readonly logFile?: string | undefined;
  /** File for what the program writes to file descriptor 3. Truncated first, created with mode 0600. */
  readonly resultFile?: string | undefined;
  /** Standard input stays open and empty until `open` is called; if we exit before that, it ends without a line. */
  readonly isGated?: boolean | undefined;
  /** `cgroup.procs` of each group that the program joins once it runs. */
  readonly cgroupFiles?: readonly string[] | undefined;
}

export interface DetachedProcess {
  /** Leader of its own session and process group: `endGroup({ groupId: pid })` ends all of them. */
  readonly pid: number;
  /** Resolves when it has joined its groups, or exited before. Rejects when it runs outside of one. */
  readonly joined: Promise<void>;
  /** 128 + signal when a signal ended it. Rejects when what started it ends sooner, which need not last as long. */
  readonly exitCode: Promise<number>;
  /** Writes one line to the standard input of a gated program and ends it. */
  open(): void;
}

/**
 * Starts a program that outlives us: it has no pipe to us and does not keep our process running.
 * @throws DomainError `engine.failed` when the program or working directory does not exist, or `user` may not enter
 * it.
 */
export async function spawnDetached(argv: Argv, options: DetachedOptions): Promise<DetachedProcess> {
  // A gated program shows itself whether it could enter its folder, so only others are tried before.
  if (options.isGated !== true) await checkFolder(argv, options);
  // Append mode keeps a log valid that is truncated or rotated while it is written.
  const log = fileOf(options.logFile, "a");
  const stdio = [options.isGated === true ? "pipe" : "ignore", log, log, fileOf(options.resultFile, "w")] as const;
  const { pid, stdin, joined, exitCode, unref } = await spawnAs(argv, options, stdio);
  unref();
  exitCode.catch(() => {}); // Nobody has to wait for it.
  if (options.isGated !== true) await inSandbox(pid, options);
  else if (options.user !== undefined && !(await hasBegun(pid, argv))) await checkFolder(argv, options);
  return { pid, joined, exitCode, open: () => stdin?.end("go\n") };
}

const fileOf = (path: string | undefined, flags: "a" | "w"): Stdio => (path === undefined ? "ignore" : { path, flags });

/**
 * Waits for the change of user, which shows that the sandbox is ready: processes that join earlier would be outside.
 */
async function inSandbox(pid: number, { user, sandbox }: Identity): Promise<void> {
  if (user === undefined || sandbox === undefined) return;
  while (processStat(pid) !== undefined && !isOfUser(pid, user.uid)) await delay(POLL_MS);
}

/**
 * Waits until a gated program runs: its sandbox is ready then, its user changed and its folder entered.
 * @returns Whether it runs; it waits at its gate, so it has failed to begin if it has exited.
 */
async function hasBegun(pid: number, argv: Argv): Promise<boolean> {
  const wanted = argv.filter(Boolean).join("\0");
  while (processStat(pid) !== undefined) {
    if (commandLine(pid).join("\0") === wanted) return true;
    await delay(POLL_MS);
  }
  return false;
}

const POLL_MS = 2; // A sandbox is ready within some 20 ms.
