import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Argv } from "./argv.ts";
import { commandLine, isOfUser, processStat } from "./procfs.ts";
import { checkFolder, exitCodeOf, pidOf, spawnAs } from "./spawn.ts";
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
}

export interface DetachedProcess {
  /** Leader of its own session and process group: `endGroup({ groupId: pid })` ends all of them. */
  readonly pid: number;
  /** 128 + signal when a signal ended it. Only the process that spawned it learns the exit code. */
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
  const files: number[] = [];
  const openFile = (path: string | undefined, flags: "a" | "w") => {
    if (path === undefined) return "ignore";
    const file = openSync(path, flags, 0o600);
    files.push(file);
    return file;
  };
  try {
    // Append mode keeps a log valid that is truncated or rotated while it is written.
    const log = openFile(options.logFile, "a");
    const result = openFile(options.resultFile, "w");
    const child = spawnAs(argv, options, [options.isGated === true ? "pipe" : "ignore", log, log, result]);
    child.unref();
    child.stdin?.on("error", () => {}); // Writing may fail because the program has exited; `exitCode` reports that.
    const pid = await pidOf(child, argv, options.cwd);
    if (options.isGated !== true) await inSandbox(pid, options);
    else if (options.user !== undefined && !(await hasBegun(pid, argv))) await checkFolder(argv, options);
    return { pid, exitCode: exitCodeOf(child), open: () => child.stdin?.end("go\n") };
  } finally {
    for (const file of files) closeSync(file);
  }
}

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
