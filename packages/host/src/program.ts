import type { Readable, Writable } from "node:stream";
import type { Argv } from "./argv.ts";

/** A standard stream of a program: a file is opened by what starts the program, with mode 0600. */
export type Stdio = "ignore" | "pipe" | { readonly path: string; readonly flags: "a" | "w" };

/** A program to start without a shell, as leader of its own session and process group. Plain JSON. */
export interface ProgramRequest {
  readonly argv: Argv;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** `undefined`: our own working directory. */
  readonly cwd?: string | undefined;
  readonly ids: { readonly uid?: number; readonly gid?: number };
  readonly stdio: readonly Stdio[];
  /** `cgroup.procs` of each group that it joins once it runs. */
  readonly cgroupFiles: readonly string[];
}

/** A program that has started. */
export interface Program {
  /** Leader of its own session and process group. */
  readonly pid: number;
  /** `null` unless it is a pipe. Failed writes are ignored, since the program may have exited. */
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Resolves when it has joined its groups, or exited before. Rejects when it runs outside of one. */
  readonly joined: Promise<void>;
  /** 128 + signal when a signal ended it. Rejects when what started it is gone, so that nobody knows. */
  readonly exitCode: Promise<number>;
  /** From now on it does not keep our process running, and nobody has to learn its exit code. */
  unref(): void;
}

/**
 * Starts programs. Rejects with Node's own error when the program or its folder does not exist, or a file cannot be
 * opened.
 */
export type ProgramStarter = (request: ProgramRequest) => Promise<Program>;
