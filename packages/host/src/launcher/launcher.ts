import type { ProgramStarter } from "../program.ts";
import { type LauncherProcess, openLauncher } from "./launcher-process.ts";
import { NotStarted } from "./remote-programs.ts";

export interface LauncherOptions {
  /** Starts programs where the process cannot be started, or cannot connect to us. */
  readonly otherwise: ProgramStarter;
  /** Where the folder for its socket is made. */
  readonly temporaryFolder: string;
  /** The process ends after this time without a program that somebody waits for. Default 60. */
  readonly idleSeconds?: number;
  /** The process is given up when it answers nothing for four times this long while a program is waited for. Default 10. */
  readonly pingSeconds?: number;
  readonly nodePath?: string;
  /** Receives why the process cannot be started. */
  readonly warn?: ((message: string, cause: unknown) => void) | undefined;
}

export interface Launcher {
  readonly start: ProgramStarter;
  /** Of the process; `undefined` while there is none. */
  pid(): number | undefined;
  /** Ends the process; programs that it has started continue. The next one starts another process. */
  close(): void;
}

/** Starts programs by a small process, which is started with the first of them. */
export function launcher(options: LauncherOptions): Launcher {
  const {
    otherwise,
    temporaryFolder,
    idleSeconds = IDLE_SECONDS,
    nodePath = process.execPath,
    pingSeconds,
    warn,
  } = options;
  let opening: Promise<LauncherProcess | undefined> | undefined;
  let current: LauncherProcess | undefined;

  function forget(attempt: typeof opening): void {
    if (opening !== attempt) return;
    opening = undefined;
    current = undefined;
  }

  function opened(): Promise<LauncherProcess | undefined> {
    if (opening !== undefined) return opening;
    const attempt: Promise<LauncherProcess | undefined> = openLauncher({
      ...{ temporaryFolder, nodePath, idleSeconds, pingSeconds },
      // One that never opened is tried again later, and not for each program.
      onEnd: () => current && forget(attempt),
    }).then(
      (made) => {
        current = made;
        return made;
      },
      (cause: unknown) => {
        warn?.("The process that starts programs cannot be started; until a later try the server does it.", cause);
        setTimeout(forget, RETRY_SECONDS * 1000, attempt).unref();
        return undefined;
      },
    );
    opening = attempt;
    return attempt;
  }

  return {
    async start(request) {
      const process = await opened();
      if (process === undefined) return otherwise(request);
      try {
        return await process.start(request);
      } catch (cause) {
        if (cause instanceof NotStarted) return otherwise(request);
        throw cause;
      }
    },
    pid: () => current?.pid,
    close() {
      current?.close();
    },
  };
}

const IDLE_SECONDS = 60; // Longer than the pauses within a deployment.
const RETRY_SECONDS = 60;
