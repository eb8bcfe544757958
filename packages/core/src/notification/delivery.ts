import { z } from "zod";
import type { NotificationDeliveryRecord } from "../ports/notification.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { CHANNEL_KINDS } from "./channel.ts";
import { NO_FACTS, notificationOf } from "./notification.ts";

export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

export const NotificationDelivery = z
  .object({
    uuid: z.string().describe("Sent to webhooks as `X-Berth-Delivery`: the same for each try."),
    channel: z.enum(CHANNEL_KINDS),
    event: z.string(),
    title: z.string(),
    success: z.boolean().describe("Whether the notification reports a success."),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    error: z.string().nullable().describe("Why the newest try failed."),
    next_attempt_at: Timestamp.nullable().describe("When it is tried again, if it is pending."),
    created_at: Timestamp,
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: "NotificationDelivery", description: "A notification on its way through one channel." });
export type NotificationDelivery = z.infer<typeof NotificationDelivery>;

export function deliveryView(record: NotificationDeliveryRecord): NotificationDelivery {
  const notification = notificationOf(record.event, NO_FACTS, null);
  const isPending = record.state === "pending";
  return {
    uuid: record.uuid,
    channel: record.kind,
    event: notification?.event ?? record.event.type,
    title: notification?.title ?? record.event.type,
    success: notification?.isSuccess ?? false,
    state: record.state,
    attempts: record.attempts,
    error: record.error,
    next_attempt_at: isPending ? timestamp(record.next_attempt_at) : null,
    created_at: timestamp(record.created_at),
    ended_at: timestampOrNull(record.ended_at),
  };
}

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
