import { closeSync, openSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Argv } from "./argv.ts";
import { isOfUser, processStat } from "./procfs.ts";
import { checkFolder, exitCodeOf, pidOf, spawnAs } from "./spawn.ts";
import type { Identity } from "./user.ts";

export interface DetachedOptions extends Identity {
  /** The child's whole environment: nothing of ours is inherited. With a sandbox by `carriedEnv`. */
  readonly env: Readonly<Record<string, string>>;
  /** Standard output and error are appended to this file, made with mode 0600. Without it they are thrown away. */
  readonly logFile?: string | undefined;
  /** Receives what the program writes to file descriptor 3. Truncated first, created with mode 0600. */
  readonly resultFile?: string | undefined;
  /** Standard input stays open and empty until `open` is called; it ends without a line when we end before that. */
  readonly isGated?: boolean | undefined;
}

export interface DetachedProcess {
  /** Leader of a session and process group of its own: `endGroup({ groupId: pid })` ends them all. */
  readonly pid: number;
  /** 128 + signal when a signal ended it. Seen only by the process that spawned it. */
  readonly exitCode: Promise<number>;
  /** Writes one line to the standard input of a gated program and ends it. */
  open(): void;
}

/**
 * Starts a program that outlives us: it holds no pipe of ours and does not keep us running.
 * @throws DomainError `engine.failed` when the program or the folder to run in does not exist, or `user` may not enter it.
 */
export async function spawnDetached(argv: Argv, options: DetachedOptions): Promise<DetachedProcess> {
  await checkFolder(argv, options);
  const files: number[] = [];
  const openFile = (path: string | undefined, flags: "a" | "w") => {
    if (path === undefined) return "ignore";
    const file = openSync(path, flags, 0o600);
    files.push(file);
    return file;
  };
  try {
    // Appending, so that a log which is cut or rotated while it is written stays whole.
    const log = openFile(options.logFile, "a");
    const result = openFile(options.resultFile, "w");
    const child = spawnAs(argv, options, [options.isGated === true ? "pipe" : "ignore", log, log, result]);
    child.unref();
    child.stdin?.on("error", () => {}); // A program that is gone by now is seen by its exit.
    const pid = await pidOf(child, argv, options.cwd);
    await inSandbox(pid, options);
    return { pid, exitCode: exitCodeOf(child), open: () => child.stdin?.end("go\n") };
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** It changes its user once its sandbox is ready: others that join the sandbox earlier would be outside of it. */
async function inSandbox(pid: number, { user, sandbox }: Identity): Promise<void> {
  if (user === undefined || sandbox === undefined) return;
  while (processStat(pid) !== undefined && !isOfUser(pid, user.uid)) await delay(POLL_MS);
}

const POLL_MS = 2; // The sandbox is ready within some 20 ms.
