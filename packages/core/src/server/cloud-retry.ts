/** Total time that the calls of one request may wait for a cloud provider's rate limit. */
const WAIT_SECONDS_MAX = 60;

/** Waits before each retry if the provider names no delay, or an implausibly long one. */
const STEPS_SECONDS = [2, 8, 20] as const;

/**
 * Seconds to wait before repeating a call that the provider's rate limit refused; `undefined`: give up.
 *
 * @param retries Retries so far, of all calls of the request.
 * @param waitedSeconds Time they have waited.
 * @param retryAfterSeconds The provider's own delay, if any.
 */
export function nextCloudWait(
  retries: number,
  waitedSeconds: number,
  retryAfterSeconds: number | undefined,
): number | undefined {
  const step = STEPS_SECONDS[retries];
  if (step === undefined) return undefined;
  const leftSeconds = WAIT_SECONDS_MAX - waitedSeconds;
  const fits = retryAfterSeconds !== undefined && retryAfterSeconds <= leftSeconds;
  const seconds = fits ? retryAfterSeconds : Math.min(step, leftSeconds);
  return seconds > 0 ? seconds : undefined;
}

/** Used when the provider sends no Retry-After. */
export const CLOUD_RETRY_AFTER_SECONDS = 60;

const DELAY_SECONDS_MAX = 86_400; // A longer delay means that the provider's clock or ours is wrong.

/**
 * The delay in a provider's answer, in whole seconds and at least one.
 *
 * @param retryAfter The header `Retry-After`: seconds or a date.
 * @param reset The header `RateLimit-Reset`: when the limit is reset, in Unix time.
 */
export function cloudRetryAfterSeconds(
  { retryAfter, reset }: { readonly retryAfter: string | null; readonly reset: string | null },
  now: Date,
): number | undefined {
  const delays = [delayOf(retryAfter, now), isNumber(reset) ? Number(reset) - now.getTime() / 1000 : undefined];
  const [seconds] = delays.filter((delay) => delay !== undefined);
  return seconds === undefined ? undefined : Math.min(Math.max(Math.ceil(seconds), 1), DELAY_SECONDS_MAX);
}

function delayOf(retryAfter: string | null, now: Date): number | undefined {
  if (isNumber(retryAfter)) return Number(retryAfter);
  // The format of dates in HTTP; `Date.parse` alone would accept almost any text.
  const at = retryAfter?.trim().endsWith(" GMT") ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(at) ? undefined : (at - now.getTime()) / 1000;
}

const isNumber = (text: string | null): boolean => text !== null && /^\d{1,12}(\.\d+)?$/.test(text.trim());
