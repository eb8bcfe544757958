import { setTimeout as delay } from "node:timers/promises";

interface UntilOptions {
  /** Time limit. Default: 30. */
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
  for (;;) {
    const found = await look();
    if (found) return found as Exclude<T, Falsy>;
    const waitedMs = performance.now() - startMs;
    if (waitedMs > seconds * 1000) throw new Error(`Not within ${seconds} s: ${what ?? look.toString()}`);
    await delay(Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS_MIN, waitedMs * PAUSE_SHARE)));
  }
}

const PAUSE_MS_MIN = 10;
const PAUSE_MS_MAX = 300;
/** Pause as a share of the time waited so far, so a test takes at most this much longer. */
const PAUSE_SHARE = 0.1;
