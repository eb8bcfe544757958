import { isDomainError } from "@berth/core";
import type { Logger } from "./logger.ts";

interface LoggedRequest {
  readonly id: string;
  readonly operation: string | undefined;
}

/**
 * Logs internal errors of the API. The first of a kind is logged in full, later ones as a count once a minute:
 * thousands of requests may fail for the same reason, and a full disk must not be filled further.
 */
export function faultLog(log: Pick<Logger, "error">, now: () => number = Date.now) {
  const known = new Map<string, { writtenMs: number; others: number }>();
  return (error: unknown, { id, operation }: LoggedRequest): void => {
    const reason = reasonOf(error);
    const kind = `${reason.code} ${reason.message}`;
    const before = known.get(kind);
    if (before !== undefined && now() - before.writtenMs < QUIET_MS) {
      before.others += 1;
      return;
    }
    known.delete(kind);
    known.set(kind, { writtenMs: now(), others: 0 });
    const [oldest] = known.keys();
    if (known.size > KINDS_MAX && oldest !== undefined) known.delete(oldest);
    const others = before === undefined || before.others === 0 ? {} : { others_since: before.others };
    const details = reason.isExpected ? { code: reason.code, cause: reason.cause } : { error };
    log.error(`A request failed: ${reason.message}`, { request_id: id, operation, ...details, ...others });
  };
}

const QUIET_MS = 60_000;
const KINDS_MAX = 100;

/** A DomainError is explained by its message and cause; any other error needs its stack. */
function reasonOf(error: unknown) {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (!isDomainError(at) || at.code === "internal.error") continue;
    const { cause } = at;
    return {
      isExpected: true,
      code: at.code,
      message: at.message,
      cause: cause instanceof Error ? cause.message : undefined,
    };
  }
  return { isExpected: false, code: "internal.error", message: error instanceof Error ? error.message : String(error) };
}
