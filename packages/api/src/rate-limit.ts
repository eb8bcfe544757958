/** A caller's remaining requests in the current minute. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  readonly isExceeded: boolean;
  /** Unix time in seconds. */
  readonly resetAt: number;
}

export interface RateLimiter {
  /** Adds `requests` to a caller's count. */
  count(caller: string, requests: number): Quota;
  /** A caller's quota, without counting; `undefined` if the caller was not counted in this minute. */
  peek(caller: string): Quota | undefined;
}

const WINDOW_SECONDS = 60;
/**
 * Above this number, new callers within the minute share one count, so that a flood of addresses cannot fill the
 * memory.
 */
const CALLERS_MAX = 50_000;

/** Fixed windows of a minute, in this process's memory. */
export function rateLimiter(limit: number, now: () => Date): RateLimiter {
  let window = 0;
  let counts = new Map<string, number>();

  const turn = () => {
    const current = Math.floor(now().getTime() / 1000 / WINDOW_SECONDS);
    if (current === window) return;
    window = current;
    counts = new Map();
  };
  const quota = (count: number): Quota => ({
    limit,
    remaining: Math.max(0, limit - count),
    isExceeded: count > limit,
    resetAt: (window + 1) * WINDOW_SECONDS,
  });

  return {
    count(caller, requests) {
      turn();
      const key = counts.has(caller) || counts.size < CALLERS_MAX ? caller : "others";
      const count = (counts.get(key) ?? 0) + requests;
      counts.set(key, count);
      return quota(count);
    },
    peek(caller) {
      turn();
      const count = counts.get(caller);
      return count === undefined ? undefined : quota(count);
    },
  };
}
