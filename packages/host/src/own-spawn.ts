import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { constants } from "node:os";
import type { Stream } from "node:stream";
import type { Program, ProgramRequest } from "./program.ts";

/** Starts a program as a child of this process. */
export async function spawnHere(request: ProgramRequest): Promise<Program> {
  const { child, pid } = await startChild(request);
  child.stdin?.on("error", () => {});
  const joined = joinCgroups(request.cgroupFiles, pid);
  joined.catch(() => {});
  return {
    ...{ pid, joined },
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exitCode: exitCodeOf(child),
    unref: () => child.unref(),
  };
}

/** @param pipes Take the places of the pipes, in their order; the program gets copies. Default: new ones. */
export async function startChild(
  { argv: [program, ...args], env, cwd, ids, stdio }: ProgramRequest,
  pipes?: readonly Stream[],
): Promise<{ readonly child: ChildProcess; readonly pid: number }> {
  const files = new Map<string, number>();
  const rest = pipes?.values();
  const open = (path: string, flags: string) => {
    const file = files.get(path) ?? openSync(path, flags, 0o600);
    files.set(path, file);
    return file;
  };
  try {
    const streams = stdio.map((kind) => {
      if (kind === "ignore") return kind;
      return kind === "pipe" ? (rest?.next().value ?? kind) : open(kind.path, kind.flags);
    }) satisfies StdioOptions;
    const place = cwd === undefined ? {} : { cwd };
    const child = spawn(program, args, { ...ids, ...place, env: { ...env }, detached: true, stdio: streams });
    return { child, pid: child.pid ?? (await failureOf(child)) };
  } finally {
    for (const file of files.values()) closeSync(file);
  }
}

/** Rejects with why it has not started. Call it at once, since Node reports it once. */
export const failureOf = (child: ChildProcess): Promise<never> =>
  new Promise((_resolve, reject) => child.once("error", reject));

/** 128 + signal when a signal ended it. */
export function exitCodeOf(child: ChildProcess): Promise<number> {
  const code = () => child.exitCode ?? 128 + constants.signals[child.signalCode ?? "SIGKILL"];
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(code());
  return new Promise((resolve) => child.once("exit", () => resolve(code())));
}

/** The kernel waits for all processors before it moves a process: 10 ms and more, in which nothing else may wait. */
export async function joinCgroups(files: readonly string[], pid: number): Promise<void> {
  await Promise.all(
    files.map(async (file) => {
      try {
        await writeFile(file, String(pid));
      } catch (cause) {
        // ESRCH: the process has already exited.
        if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
      }
    }),
  );
}
