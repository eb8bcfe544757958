import { Cron } from "croner";
import { z } from "zod";

/** Names of common expressions. */
const FREQUENCIES: Readonly<Record<string, string>> = {
  every_minute: "* * * * *",
  hourly: "0 * * * *",
  daily: "0 0 * * *",
  weekly: "0 0 * * 0",
  monthly: "0 0 1 * *",
  yearly: "0 0 1 1 *",
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

/** The cron expression (five fields) of a frequency, which may be a name such as `daily`. */
export const cronOf = (frequency: string): string => FREQUENCIES[frequency] ?? frequency;

export function isFrequency(text: string): boolean {
  try {
    // Without a function, croner only parses the expression.
    return new Cron(cronOf(text), { mode: "5-part", paused: true }).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

/**
 * The times of a frequency on the clocks of `timezone` (IANA; UTC if unknown), as a function that returns the first
 * one after a time. `undefined` if there is none, or the frequency is invalid.
 *
 * When clocks are put forward, a skipped time runs at the change. A repeated time runs once, the first time, unless
 * the expression names many hours or minutes with `*`: then it runs each time.
 */
export function timesOf(frequency: string, timezone: string): (after: Date) => Date | undefined {
  try {
    const cron = new Cron(cronOf(frequency), { mode: "5-part", paused: true, timezone: zoneOf(timezone) });
    return (after) => cron.nextRun(after) ?? undefined;
  } catch {
    return () => undefined;
  }
}

/** A server's zone is free text: unknown zones count as UTC. */
export function zoneOf(timezone: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}

export const FREQUENCY_PROBLEM = "Invalid cron expression or frequency format.";

/** A frequency as its owner writes it. */
export const Frequency = z
  .string()
  .max(255, FREQUENCY_PROBLEM)
  .refine(isFrequency, FREQUENCY_PROBLEM)
  .describe("Cron expression with five fields, or a word such as `every_minute`, `daily`, `@weekly`.");
