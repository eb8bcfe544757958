import { setTimeout as after } from "node:timers/promises";

/** Resolves after the time or on `signal`, whichever comes first. Never rejects. */
export async function pause(seconds: number, signal?: AbortSignal): Promise<void> {
  await after(seconds * 1000, undefined, { signal }).catch(() => undefined);
}

/** Waits for `work`, at most `seconds`. Afterwards `work` continues and its result is ignored. */
export async function within<T>(seconds: number, work: Promise<T>): Promise<{ readonly value: T } | undefined> {
  const timer = new AbortController();
  work.catch(() => undefined);
  try {
    return await Promise.race([work.then((value) => ({ value })), pause(seconds, timer.signal).then(() => undefined)]);
  } finally {
    timer.abort();
  }
}
