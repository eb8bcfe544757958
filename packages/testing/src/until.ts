import { setTimeout as delay } from "node:timers/promises";

interface UntilOptions {
  /** Time limit on a machine that has nothing else to do; a busy one has four times as much. Default: 30. */
  readonly seconds?: number;
  /** Description of the condition for the failure message. Default: its source code. */
  readonly what?: string;
}

type Falsy = false | 0 | "" | null | undefined;

/**
 * Repeats the check until its result is truthy, and returns that. The pause grows with the time waited: otherwise
 * hundreds of concurrent tests would occupy the processors with checks.
 */
export async function until<T>(
  look: () => Promise<T> | T,
  { seconds = 30, what }: UntilOptions = {},
): Promise<Exclude<T, Falsy>> {
  const startMs = performance.now();
  const limitMs = Math.max(seconds, Math.min(seconds * BUSY_FACTOR, BUSY_SECONDS_MAX)) * 1000;
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, Falsy>;
    const waitedMs = performance.now() - startMs;
    if (waitedMs > limitMs) throw new Error(`Not within ${limitMs / 1000} s: ${what ?? look.toString()}`);
    await delay(Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs * PAUSE_SHARE)));
  }
}

/** The limit is for conditions that never hold, so only a test that fails waits as long. */
const BUSY_FACTOR = 4;
/** Shorter than the time limit of a test, so that the condition is named. */
const BUSY_SECONDS_MAX = 240;

const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 300;
/** Pause as a share of the time waited so far, so a test takes at most this much longer. */
const PAUSE_SHARE = 0.1;
