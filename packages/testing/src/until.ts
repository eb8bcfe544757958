import { setTimeout as delay } from "node:timers/promises";

interface UntilOptions {
  /** Default: 30. */
  readonly seconds?: number;
  /** The condition in words, for the failure. Default: its source. */
  readonly what?: string;
}

type Falsy = false | 0 | "" | null | undefined;

/**
 * Asks again and again until the answer is true-ish, and returns it. An answer that was long in coming is asked for
 * ever more rarely: hundreds of tests that wait side by side would otherwise keep the processors busy with asking.
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
/** Of the time waited so far: what a test takes longer because of it is at most this share. */
const PAUSE_SHARE = 0.1;
