import { isDomainError } from "@berth/core";
import type { Logger } from "./ports.ts";

/** Logs a repeated failure only when it begins, when it changes and when it is over. */
export interface DedupedWarnings {
  /** @param about The object concerned: one failure is remembered for each. */
  failed(
    about: string,
    message: string,
    details: Readonly<Record<string, unknown>> & { readonly error: unknown },
  ): void;
  /** Logs the recovery, if there was a failure. */
  over(about: string, message: string, details: Readonly<Record<string, unknown>>): void;
  forget(about: string): void;
}

export function dedupedWarnings(logger: Logger): DedupedWarnings {
  const known = new Map<string, string>();
  return {
    failed(about, message, details) {
      const kind = `${message} ${kindOf(details.error)}`;
      const isTold = known.get(about) === kind;
      known.set(about, kind);
      if (isTold) logger.debug(message, details);
      else logger.warn(message, details);
    },
    over(about, message, details) {
      if (known.delete(about)) logger.info(message, details);
    },
    forget: (about) => void known.delete(about),
  };
}

/** Compares codes: messages may contain a port or a time that differs each time. */
const kindOf = (error: unknown): string => (isDomainError(error) ? error.code : String(error));
