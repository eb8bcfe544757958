/** Growing pauses between tries of what fails, each named by what it is about. */
export interface RetryBackoff {
  /** @returns The pause before the next try. */
  failed(about: string): number;
  succeeded(about: string): void;
  isResting(about: string): boolean;
  /** Whether it failed, and neither succeeded nor was left alone for long since. */
  hasFailed(about: string): boolean;
  /** All that wait for their next try. */
  resting(): ReadonlySet<string>;
}

interface Rest {
  readonly count: number;
  readonly untilMs: number;
}

/** @param nowMs A clock that never goes back. */
export function retryBackoff(
  { firstSeconds, secondsMax }: { readonly firstSeconds: number; readonly secondsMax: number },
  nowMs: () => number = () => performance.now(),
): RetryBackoff {
  const rests = new Map<string, Rest>();
  const isResting = (about: string) => nowMs() < (rests.get(about)?.untilMs ?? Number.NEGATIVE_INFINITY);
  return {
    failed(about) {
      // What was not tried for long is about something that is gone.
      for (const [key, { untilMs }] of rests) if (nowMs() - untilMs > secondsMax * 2000) rests.delete(key);
      const count = (rests.get(about)?.count ?? 0) + 1;
      const seconds = Math.min(firstSeconds * 2 ** (count - 1), secondsMax);
      rests.set(about, { count, untilMs: nowMs() + seconds * 1000 });
      return seconds;
    },
    succeeded: (about) => void rests.delete(about),
    isResting,
    hasFailed: (about) => rests.has(about),
    resting: () => new Set([...rests.keys()].filter(isResting)),
  };
}
