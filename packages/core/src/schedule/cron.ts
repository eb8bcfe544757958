import { Cron } from "croner";
import { z } from "zod";

/** Words that stand for an expression. */
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

/** The cron expression (five fields) of a frequency, which is one itself or a word such as `daily`. */
export const cronOf = (frequency: string): string => FREQUENCIES[frequency] ?? frequency;

export function isFrequency(text: string): boolean {
  try {
    // Without a function to call, nothing is scheduled.
    return new Cron(cronOf(text), { mode: "5-part", paused: true }).nextRun(new Date(0)) !== null;
  } catch {
    return false;
  }
}

/**
 * The times that a frequency names on the clocks of `timezone` (IANA; UTC where it is unknown): asked with a time, the
 * first after it. `undefined` where there is none, or when the frequency is none.
 *
 * A time that the clocks leave out comes when they are put forward. A time that they show twice comes once, the first
 * time, unless the expression names many hours or minutes with `*`: then it comes as often as they show it.
 */
export function timesOf(frequency: string, timezone: string): (after: Date) => Date | undefined {
  try {
    const cron = new Cron(cronOf(frequency), { mode: "5-part", paused: true, timezone: zoneOf(timezone) });
    return (after) => cron.nextRun(after) ?? undefined;
  } catch {
    return () => undefined;
  }
}

/** A server's zone is free text: what no clock knows is UTC. */
export function zoneOf(timezone: string): string {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone;
  } catch {
    return "UTC";
  }
}

export const FREQUENCY_PROBLEM = "Invalid cron expression or frequency format.";

/** When something happens again, as its owner writes it. */
export const Frequency = z
  .string()
  .max(255, FREQUENCY_PROBLEM)
  .refine(isFrequency, FREQUENCY_PROBLEM)
  .describe("Cron expression with five fields, or a word such as `every_minute`, `daily`, `@weekly`.");
