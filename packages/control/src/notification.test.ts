import type { DeliveryResult } from "@berth/core/notification";
import type { NotificationSender } from "@berth/core/ports";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

type Sending = Parameters<NotificationSender>[0];

const URL_OF_DISCORD = "https://discord.test/api/webhooks/1/sesame";

let at: World;
let answer: DeliveryResult;
const received: Sending[] = [];
beforeAll(async () => {
  at = await world({
    sendNotification: async (sending) => {
      received.push(sending);
      return answer;
    },
  });
});
afterAll(() => at.db.close());
beforeEach(() => {
  answer = { isDelivered: true };
  received.length = 0;
});

const teamId = () => at.place.server.team_id;
const reader = () => at.as(teamId(), "read").notifications;

describe("a channel", () => {
  test("has its defaults before anybody changes it, and the team's id", async () => {
    expect(await at.own.notifications.get("slack")).toMatchObject({
      ...{ id: teamId(), team_id: teamId(), slack_enabled: false, slack_webhook_url: null },
      ...{ deployment_failure_slack_notifications: true, deployment_success_slack_notifications: false },
    });
  });

  test("is changed field by field, and says what it lacks to send", async () => {
    const on = await at.own.notifications.update("discord", { discord_enabled: true });
    expect(on).toMatchObject({ discord_enabled: true, message: expect.stringContaining("`discord_webhook_url`") });
    const whole = await at.own.notifications.update("discord", { discord_webhook_url: URL_OF_DISCORD });
    expect(whole).toMatchObject({ discord_enabled: true, discord_webhook_url: URL_OF_DISCORD });
    expect(whole).not.toHaveProperty("message");
    expect(await at.own.notifications.get("discord")).toEqual(whole);
  });

  test("shows its secrets to those who may see them", async () => {
    await at.own.notifications.update("discord", { discord_webhook_url: URL_OF_DISCORD });
    const views = [
      await reader().get("discord"),
      await at.as(teamId(), "read", "write").notifications.update("discord", {}),
    ];
    for (const view of views) {
      expect(view).toHaveProperty("discord_enabled");
      expect(JSON.stringify(view)).not.toContain("sesame");
    }
  });

  test("is changed with the ability write, without secrets in its event", async () => {
    await expect(reader().update("discord", {})).rejects.toMatchObject({ code: "auth.missing_ability" });
    await expect(at.as(teamId(), "write").notifications.get("discord")).rejects.toMatchObject({
      code: "auth.missing_ability",
    });
    await at.own.notifications.update("discord", { discord_webhook_url: URL_OF_DISCORD, discord_enabled: false });
    const [event] = await at.stores.events.list({ type: "notification.updated", newestFirst: true, take: 1 });
    expect(event?.payload).toEqual({
      ...{ channel: "discord", is_enabled: false, fields: ["discord_enabled", "discord_webhook_url"] },
    });
  });

  test("keeps each field of changes that are made at once", async () => {
    const events = ["deployment_success", "backup_success", "status_change", "server_reachable"] as const;
    const changes = events.map((event) =>
      at.own.notifications.update("pushover", { [`${event}_pushover_notifications`]: true }),
    );
    expect(await outcomes(changes)).toEqual(events.map(() => "done"));
    const view: Record<string, unknown> = await at.own.notifications.get("pushover");
    for (const event of events) expect([event, view[`${event}_pushover_notifications`]]).toEqual([event, true]);
  });

  test("is the team's own", async () => {
    await at.own.notifications.update("webhook", { webhook_url: "https://own.test/" });
    expect(await at.otherTeam.control.notifications.get("webhook")).toMatchObject({ webhook_url: null });
  });
});

describe("a test", () => {
  test("is sent at once with the stored settings, though the channel is off", async () => {
    await at.own.notifications.update("discord", { discord_webhook_url: URL_OF_DISCORD, discord_enabled: false });
    expect(await at.own.notifications.test("discord")).toEqual({ message: "Test notification sent." });
    expect(received).toMatchObject([
      { kind: "discord", settings: { discord_webhook_url: URL_OF_DISCORD }, notification: { event: "test" } },
    ]);
    expect((await at.own.notifications.deliveries({})).items).toEqual([]);
  });

  test("of a channel that lacks something is refused before anything is sent", async () => {
    await expect(at.own.notifications.test("telegram")).rejects.toMatchObject({
      ...{
        code: "request.invalid",
        fields: { telegram_token: [expect.any(String)], telegram_chat_id: [expect.any(String)] },
      },
    });
    expect(received).toEqual([]);
    await expect(reader().test("discord")).rejects.toMatchObject({ code: "auth.missing_ability" });
  });

  test.each([
    [true, "notification.refused", "Discord answered 404: Unknown Webhook. Check the channel's settings."],
    [
      false,
      "notification.unreachable",
      "Discord answered 404: Unknown Webhook. Check the channel's address, and try again.",
    ],
  ])("that does not arrive says why: final %s is %s", async (isFinal, code, message) => {
    answer = { isDelivered: false, problem: "Discord answered 404: Unknown Webhook", isFinal };
    await at.own.notifications.update("discord", { discord_webhook_url: URL_OF_DISCORD });
    await expect(at.own.notifications.test("discord")).rejects.toMatchObject({ code, message });
  });
});

test("deliveries are listed to readers of the team, by channel and state", async () => {
  await at.own.notifications.update("webhook", { webhook_url: "https://own.test/", webhook_enabled: true });
  const payload = { resource_name: "shop", deployment_uuid: "d1", error: "Broken." };
  await at.stores.events.append({ type: "deployment.failed", resource_uuid: "r1", payload });
  const { items, total } = await reader().deliveries({ channel: "webhook", state: "pending" });
  expect(total).toBe(1);
  expect(items).toMatchObject([
    {
      ...{ channel: "webhook", event: "deployment_failed", title: "shop could not be deployed", success: false },
      ...{ state: "pending", attempts: 0, error: null },
    },
  ]);
  expect((await reader().deliveries({ state: "failed" })).items).toEqual([]);
  expect((await at.otherTeam.control.notifications.deliveries({})).items).toEqual([]);
  const writer = at.as(teamId(), "write").notifications;
  await expect(writer.deliveries({})).rejects.toMatchObject({ code: "auth.missing_ability" });
});
