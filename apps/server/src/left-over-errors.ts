import type { Logger } from "./logger.ts";

interface Program {
  on(event: "uncaughtException" | "unhandledRejection", listener: (error: unknown) => void): unknown;
  exit(code: number): void;
}

/**
 * Handles errors that no owner of a connection or promise handled. Connection errors and unhandled rejections affect
 * only their own work, so they are logged. Any other uncaught exception may have left a half-finished change: the
 * process exits, and its parent restarts it.
 */
export function handleLeftOverErrors(program: Program, log: Pick<Logger, "error">): void {
  program.on("unhandledRejection", (error) => log.error("A promise that nobody awaited was rejected.", { error }));
  program.on("uncaughtException", (error) => {
    if (isConnectionError(error)) return log.error("An unused connection or file failed.", { error });
    log.error("Berth ends because of an internal error, and is started again.", { error });
    program.exit(INTERNAL_ERROR);
  });
}

/** Errors of connections, streams and files, reported by the system, by Node's streams or by client libraries. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // ssh2's errors have a `level`; lost database connections are recognised by their message.
  if ("level" in error || LOST_CONNECTION.test(error.message)) return true;
  return "code" in error && typeof error.code === "string" && CONNECTION_CODES.test(error.code);
}

const CONNECTION_CODES = /^(E[A-Z]+$|ERR_(STREAM|SOCKET|HTTP2?|SSL|TLS)_|UND_ERR_|HPE_)/;
const LOST_CONNECTION = /^(Connection (terminated|ended)|socket hang up)/;

const INTERNAL_ERROR = 70; // `EX_SOFTWARE` in sysexits.h.
