import { Message } from "@berth/core";
import {
  CHANNEL_KINDS,
  CHANNEL_UPDATES,
  CHANNEL_VIEWS,
  type ChannelKind,
  DELIVERY_STATES,
  NotificationDelivery,
} from "@berth/core/notification";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { router } from "./trpc.ts";

const TITLES: Record<ChannelKind, string> = {
  email: "e-mail",
  discord: "Discord",
  slack: "Slack",
  telegram: "Telegram",
  pushover: "Pushover",
  webhook: "a webhook",
};

const channel = <Kind extends ChannelKind>(kind: Kind) =>
  router({
    get: operation({
      method: "GET",
      path: `/notifications/${kind}`,
      operationId: `get-current-team-${kind}-notifications`,
      tag: "Notifications",
      summary: `Get the team's notifications by ${TITLES[kind]}`,
      ability: "read",
    })
      .input(z.strictObject({}))
      .output(CHANNEL_VIEWS[kind])
      .query(({ ctx }) => answerOf(ctx.control.notifications.get(kind))),

    update: operation({
      method: "PATCH",
      path: `/notifications/${kind}`,
      operationId: `update-current-team-${kind}-notifications`,
      tag: "Notifications",
      summary: `Change the team's notifications by ${TITLES[kind]}`,
      description:
        "A field that is not sent stays as it is. A channel that is turned on reports what happens from then on. " +
        "`message` says what it lacks to send. Private addresses are called only if the operator allows them.",
      ability: "write",
    })
      .input(CHANNEL_UPDATES[kind])
      .output(CHANNEL_VIEWS[kind])
      .mutation(({ ctx, input }) => answerOf(ctx.control.notifications.update(kind, { ...input }))),

    test: operation({
      method: "POST",
      path: `/notifications/${kind}/test`,
      operationId: `test-current-team-${kind}-notifications`,
      tag: "Notifications",
      summary: `Send a test by ${TITLES[kind]}`,
      description:
        "Sent at once with the stored settings, also if the channel is turned off. The error says why it did not arrive.",
      ability: "write",
      errors: ["notification.refused", "notification.unreachable"],
    })
      .input(z.strictObject({}))
      .output(Message)
      .mutation(({ ctx }) => ctx.control.notifications.test(kind)),
  });

// TypeScript cannot relate views to the schemas of a kind that it does not know; the schema checks the answer.
const answerOf = (view: Promise<unknown>) => view as Promise<never>;

export const notifications = router({
  email: channel("email"),
  discord: channel("discord"),
  slack: channel("slack"),
  telegram: channel("telegram"),
  pushover: channel("pushover"),
  webhook: channel("webhook"),

  deliveries: operation({
    method: "GET",
    path: "/notifications/deliveries",
    operationId: "list-notification-deliveries",
    tag: "Notifications",
    summary: "List deliveries of notifications",
    description: "Newest first, for 30 days after they ended. One that fails is tried nine times, within twelve hours.",
    ability: "read",
  })
    .input(
      z.strictObject({
        channel: z.enum(CHANNEL_KINDS).optional().describe("Only by this channel."),
        state: z.enum(DELIVERY_STATES).optional().describe("Only in this state."),
        ...paging,
      }),
    )
    .output(z.array(NotificationDelivery))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.notifications.deliveries(input), input)]),
});
