import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { DomainError } from "@berth/core";
import type { Argv } from "./argv.ts";
import { asUser, type Identity } from "./user.ts";

type Stdio = "ignore" | "pipe" | number;

export interface SpawnOptions extends Identity {
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Starts a program without a shell, as leader of its own session and process group, with exactly the given
 * environment.
 */
export function spawnAs(argv: Argv, options: SpawnOptions, stdio: readonly Stdio[]): ChildProcess {
  const { argv: command, ids, cwd } = asUser(argv, options);
  const [program, ...args] = command;
  const place = cwd === undefined ? {} : { cwd };
  return spawn(program, args, { ...ids, ...place, env: { ...options.env }, detached: true, stdio: [...stdio] });
}

/**
 * Call it before `spawnAs` with a user: the started program enters the folder itself, and its exit code for a failure
 * would be ambiguous.
 * @throws DomainError `engine.failed` when the folder does not exist, or the user may not enter it.
 */
export async function checkFolder(argv: Argv, { cwd, user }: SpawnOptions): Promise<void> {
  if (cwd === undefined || user === undefined) return;
  const child = spawnAs(["/bin/sh", "-c", ":"], { env: {}, cwd, user }, ["ignore", "ignore", "ignore"]);
  await pidOf(child, argv, cwd);
  if ((await exitCodeOf(child)) === 0) return;
  throw new DomainError(
    "engine.failed",
    `The program ${argv[0]} cannot be started: its working folder no longer exists, or is a link to where ` +
      "its user may not go. See what came before it.",
  );
}

/** @throws DomainError `engine.failed` when the program or the working directory does not exist. */
export function pidOf(child: ChildProcess, argv: Argv, cwd: string | undefined): Promise<number> {
  if (child.pid !== undefined) return Promise.resolve(child.pid);
  return new Promise((_resolve, reject) => {
    child.once("error", (cause) => {
      const place = cwd === undefined ? "" : " or the folder to run it in does not exist";
      const message = `The program ${argv[0]} cannot be started: it is not installed${place}. Install it and try again.`;
      reject(new DomainError("engine.failed", message, { cause }));
    });
  });
}

/** 128 + signal when a signal ended it. */
export function exitCodeOf(child: ChildProcess): Promise<number> {
  const code = () => child.exitCode ?? 128 + constants.signals[child.signalCode ?? "SIGKILL"];
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(code());
  return new Promise((resolve) => child.once("exit", () => resolve(code())));
}
