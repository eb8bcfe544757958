import { isDomainError } from "@berth/core";
import type { Config } from "./config.ts";

export interface Logger {
  debug(message: string, details?: Readonly<Record<string, unknown>>): void;
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
  error(message: string, details?: Readonly<Record<string, unknown>>): void;
}

const LEVELS = ["debug", "info", "warn", "error", "silent"] as const;

/**
 * Writes lines to standard error, also for `journalctl`: time, level, message, details as JSON. Rate and length of
 * lines are limited, so that repeated failures cannot fill a disk. `debug` writes everything.
 */
export function logger(
  level: Config["logLevel"],
  output: { write(text: string): unknown } = process.stderr,
  now: () => number = Date.now,
): Logger {
  const mayWrite =
    level === "debug" ? () => true : rateLimit(now, (count) => write("warn", `${count} lines left out.`));
  const write = (at: (typeof LEVELS)[number], text: string) =>
    output.write(`${new Date(now()).toISOString()} ${at} ${text}\n`);
  const at = (own: (typeof LEVELS)[number]) => (message: string, details?: Readonly<Record<string, unknown>>) => {
    if (LEVELS.indexOf(own) < LEVELS.indexOf(level) || !mayWrite()) return;
    const suffix = details && Object.keys(details).length > 0 ? ` ${JSON.stringify(details, printable)}` : "";
    const text = `${message}${suffix}`;
    write(own, text.length > LINE_LENGTH_MAX ? `${text.slice(0, LINE_LENGTH_MAX)}…` : text);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Allows a burst of lines, then a fixed rate. @param onResume Receives the number of lines left out. */
function rateLimit(now: () => number, onResume: (count: number) => void): () => boolean {
  let [allowed, atMs, leftOut] = [LINES_BURST, now(), 0];
  return () => {
    allowed = Math.min(LINES_BURST, allowed + ((now() - atMs) / 1000) * LINES_PER_SECOND);
    atMs = now();
    if (allowed < 1) {
      leftOut += 1;
      return false;
    }
    allowed -= 1;
    const count = leftOut;
    leftOut = 0;
    if (count > 0) onResume(count);
    return true;
  };
}

const LINE_LENGTH_MAX = 16_384;
const LINES_BURST = 500;
const LINES_PER_SECOND = 5;

/**
 * JSON would omit an error's message, code and cause. Errors with a code get no stack: the code explains them, and
 * they may occur often, for example while a database is unavailable.
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
