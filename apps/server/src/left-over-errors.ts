import type { Logger } from "./logger.ts";

interface Program {
  on(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

/**
 * Every connection has an owner who hears its errors. What is left over fails the work that it belongs to, and nobody
 * else's: errors of the system and promises that nobody awaited are written down. Any other error that was thrown where
 * nobody catches it may have left half of a change behind: then the process ends, and its parent starts it again.
 */
export function handleLeftOverErrors(program: Program, log: Pick<Logger, "error">): void {
  program.on("unhandledRejection", (error) => log.error("Something failed that nobody waited for.", { error }));
  program.on("uncaughtException", (error) => {
    if (isSystemError(error)) return log.error("A connection or file failed that nobody was using.", { error });
    log.error("Berth ends because of an internal error, and is started again.", { error });
    program.exit(INTERNAL_ERROR);
  });
}

/** As Node makes them of what the operating system reports. */
const isSystemError = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && typeof error.syscall === "string";

const INTERNAL_ERROR = 70; // EX_SOFTWARE of sysexits.h.
