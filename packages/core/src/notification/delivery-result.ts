export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** Seconds between tries; after the last of them a delivery has failed. Some eleven hours in all. */
const PAUSES_SECONDS = [10, 30, 120, 600, 1800, 3600, 10_800, 21_600] as const;

/** Result of one try. `problem` holds no secret. `isFinal`: another try would end the same. */
export type DeliveryResult =
  | { readonly isDelivered: true }
  | {
      readonly isDelivered: false;
      readonly problem: string;
      readonly isFinal: boolean;
      readonly retryAfterSeconds?: number | undefined;
    };

/** Seconds until the next try; `undefined` if there is none. @param attempts Tries so far. */
export function retryInSeconds(
  attempts: number,
  { isFinal, retryAfterSeconds = 0 }: Extract<DeliveryResult, { isDelivered: false }>,
): number | undefined {
  const pause = PAUSES_SECONDS[attempts - 1];
  if (isFinal || pause === undefined) return undefined;
  return Math.max(pause, Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX));
}

const RETRY_AFTER_SECONDS_MAX = 3600;
