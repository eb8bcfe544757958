import { vi } from "vitest";

/**
 * Repeats the assertions until they pass, and returns their result. The limit is for those that never pass: what takes
 * a moment here takes a minute on a busy machine.
 */
export const eventually = <T>(assertions: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(assertions, { timeout: TIMEOUT_MS, interval: INTERVAL_MS });

/** Shorter than the time limit of a test, so that the assertion is shown. */
const TIMEOUT_MS = 240_000;
const INTERVAL_MS = 25;
