import { isDomainError } from "@berth/core";
import type { Config } from "./config.ts";

export interface Logger {
  debug(message: string, details?: Readonly<Record<string, unknown>>): void;
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
  error(message: string, details?: Readonly<Record<string, unknown>>): void;
}

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/** Lines for people and for `journalctl`, on standard error: time, level, message, details as JSON. */
export function logger(level: Config["logLevel"], output: { write(text: string): unknown } = process.stderr): Logger {
  const write = (at: (typeof LEVELS)[number]) => (message: string, details?: Readonly<Record<string, unknown>>) => {
    if (LEVELS.indexOf(at) < LEVELS.indexOf(level)) return;
    const suffix = details && Object.keys(details).length > 0 ? ` ${JSON.stringify(details, printable)}` : "";
    output.write(`${new Date().toISOString()} ${at} ${message}${suffix}\n`);
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/**
 * An error's message, code and cause would be lost in JSON. The stack is left out of errors with a code: these explain
 * them, and the same error may be logged often, for example while a database is away.
 */
function printable(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  if (isDomainError(value) && value.code !== "internal.error") {
    const { code, message, cause } = value;
    return { code, message, ...(cause === undefined ? {} : { cause: cause instanceof Error ? cause.message : cause }) };
  }
  const { name, message, stack, cause } = value;
  return { name, message, ...("code" in value ? { code: value.code } : {}), stack, ...(cause ? { cause } : {}) };
}
