/** How long the calls of one request to a cloud provider may wait together for its rate limit. */
const WAIT_SECONDS_MAX = 60;

/** Waits before each retry where the provider names no delay, or one that is too long to wait for: it may be wrong. */
const STEPS_SECONDS = [2, 8, 20] as const;

/**
 * How many seconds to wait before a call is made again that the provider's rate limit refused; `undefined` to give up.
 *
 * @param retries Made so far, by all calls of the request.
 * @param waitedSeconds Before them.
 * @param retryAfterSeconds What the provider says, if anything.
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

const DELAY_SECONDS_MAX = 86_400; // More is a fault of the provider's clock or ours.

/**
 * The delay that a provider's answer names, in whole seconds and at least one.
 *
 * @param retryAfter The header `Retry-After`: seconds or a date.
 * @param reset The header `RateLimit-Reset`: when the limit is whole again, in Unix time.
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
  // The form of HTTP's dates; `parse` alone would find a year in nearly any text.
  const at = retryAfter?.trim().endsWith(" GMT") ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(at) ? undefined : (at - now.getTime()) / 1000;
}

const isNumber = (text: string | null): boolean => text !== null && /^\d{1,12}(\.\d+)?$/.test(text.trim());
