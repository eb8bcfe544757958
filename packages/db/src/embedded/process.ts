import { execFile, spawn } from "node:child_process";

/** User and group of a program. Default: our own. */
export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

export interface ProgramResult {
  /** `undefined`: it could not be started at all. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** The database's programs get nothing of our environment, since it may hold secrets. */
export const PROGRAM_ENVIRONMENT = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LANG: "C", LC_ALL: "C", TZ: "UTC" };

const PROGRAM_TIMEOUT_MS = 120_000; // initdb on a slow disk takes some seconds

/** Runs a program to its end. Never rejects. */
export function run(
  program: string,
  args: readonly string[],
  options: { readonly ids?: Ids | undefined; readonly input?: string; readonly folder?: string } = {},
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      {
        ...options.ids,
        cwd: options.folder ?? "/",
        env: PROGRAM_ENVIRONMENT,
        timeout: PROGRAM_TIMEOUT_MS,
        maxBuffer: 10_000_000,
      },
      (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : typeof error.code === "number" ? error.code : undefined;
        resolve({ exitCode, stdout, stderr: stderr || (error?.message ?? "") });
      },
    );
    child.stdin?.on("error", () => undefined); // it may exit without reading
    child.stdin?.end(options.input ?? "");
  });
}

/**
 * Starts a program that continues without us: a Ctrl-C in our terminal does not reach it, its output goes to a file.
 *
 * @returns Its process id, and a promise of its end that does not keep us alive.
 */
export function startDaemon(
  program: string,
  args: readonly string[],
  options: { readonly ids?: Ids | undefined; readonly folder: string; readonly logFile: number },
): { readonly pid: number | undefined; readonly ended: Promise<void> } {
  const child = spawn(program, args, {
    ...options.ids,
    cwd: options.folder,
    env: PROGRAM_ENVIRONMENT,
    detached: true,
    stdio: ["ignore", options.logFile, options.logFile],
  });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  child.unref();
  return { pid: child.pid, ended };
}
