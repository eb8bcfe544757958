import { DomainError, isDomainError } from "@berth/core";
import { CLOUD_RETRY_AFTER_SECONDS, nextCloudWait } from "@berth/core/server";

/**
 * A call to a cloud provider. Its failure is reported as what could not be done.
 *
 * @param failure A sentence for `cloud.failed`, e.g. `Failed to fetch Hetzner images.`
 * @throws DomainError `cloud.rate_limited`, always with the seconds to wait
 */
export async function cloudCall<T>(failure: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (isDomainError(error, "cloud.failed")) {
      const { code, message, details } = error;
      throw new DomainError(code, `${failure} ${message}`, { cause: error, ...(details && { details }) });
    }
    if (isDomainError(error, "cloud.rate_limited")) {
      const { retryAfterSeconds = CLOUD_RETRY_AFTER_SECONDS } = error;
      throw new DomainError(error.code, error.message, { cause: error, retryAfterSeconds });
    }
    throw error;
  }
}

/**
 * Retries the calls of one request while the provider's rate limit refuses them, as long as `nextCloudWait` allows it
 * for all of them together.
 */
export function patience(wait: (seconds: number) => Promise<void>): <T>(call: () => Promise<T>) => Promise<T> {
  let retries = 0;
  let waitedSeconds = 0;
  return async (call) => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!isDomainError(error, "cloud.rate_limited")) throw error;
        const seconds = nextCloudWait(retries, waitedSeconds, error.retryAfterSeconds);
        if (seconds === undefined) throw error;
        retries += 1;
        waitedSeconds += seconds;
        await wait(seconds);
      }
    }
  };
}
