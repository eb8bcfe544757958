import { execFile, spawn } from "node:child_process";

/** User and group of a program. Default: those of this process. */
export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

export interface ProgramResult {
  /** `undefined`: it could not be started. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** The database's programs do not inherit the environment, since it may contain secrets. */
export const PROGRAM_ENVIRONMENT = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LANG: "C", LC_ALL: "C", TZ: "UTC" };

const PROGRAM_TIMEOUT_MS = 120_000; // initdb takes some seconds on a slow disk

/** Runs a program until it ends. Never rejects. */
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
    child.stdin?.on("error", () => undefined); // it may exit without reading its input
    child.stdin?.end(options.input ?? "");
  });
}

/**
 * Starts a program that outlives this process: it gets no Ctrl-C of the terminal, and writes to a file.
 *
 * @returns Its process id, and a promise of its end that does not keep this process alive.
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
