import { z } from "zod";
import type { NotificationDeliveryRecord } from "../ports/notification.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { CHANNEL_KINDS } from "./channel.ts";
import { DELIVERY_STATES } from "./delivery-result.ts";
import { NO_FACTS, notificationOf } from "./notification.ts";

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
