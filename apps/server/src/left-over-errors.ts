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
    if (isConnectionError(error)) return log.error("A connection or file failed that nobody was using.", { error });
    log.error("Berth ends because of an internal error, and is started again.", { error });
    program.exit(INTERNAL_ERROR);
  });
}

/** Of a connection, a stream or a file: what the operating system, Node's streams or a client library report. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // `level` is what ssh2 gives its errors; those of lost database connections have a sentence alone.
  if ("level" in error || LOST_CONNECTION.test(error.message)) return true;
  return "code" in error && typeof error.code === "string" && CONNECTION_CODES.test(error.code);
}

const CONNECTION_CODES = /^(E[A-Z]+$|ERR_(STREAM|SOCKET|HTTP2?|SSL|TLS)_|UND_ERR_|HPE_)/;
const LOST_CONNECTION = /^(Connection (terminated|ended)|socket hang up)/;

const INTERNAL_ERROR = 70; // EX_SOFTWARE of sysexits.h.
