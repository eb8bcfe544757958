import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  CHANNEL_FIELDS,
  CHANNEL_KINDS,
  CHANNEL_UPDATES,
  CHANNEL_VIEWS,
  channelFlag,
  defaultsOf,
  isChannelSecret,
  NOTIFICATION_EVENTS,
  storedSettings,
} from "./channel.ts";
import { changedChannel, channelView, chosenEvents, missingFields, withoutSecrets } from "./channel-rule.ts";

const instance = { hasInstanceMail: false };

describe.each(CHANNEL_KINDS)("%s", (kind) => {
  test("has a setting for each event, which is named for it and has the same default", () => {
    const defaults: Record<string, unknown> = defaultsOf(kind);
    for (const [event, isOn] of Object.entries(NOTIFICATION_EVENTS)) {
      const isExcepted = kind === "webhook" && event === "server_patch";
      expect([event, defaults[`${event}_${kind}_notifications`]]).toEqual([event, isOn && !isExcepted]);
    }
  });

  test("changes the fields that are sent, and puts null back to the default", () => {
    const name = `deployment_success_${kind}_notifications`;
    const on = changedChannel(kind, defaultsOf(kind), CHANNEL_UPDATES[kind].parse({ [name]: true }), instance);
    expect(on.settings).toEqual({ ...defaultsOf(kind), [name]: true });
    expect(on.events).toContain("deployment_success");
    const again = changedChannel(kind, on.settings, CHANNEL_UPDATES[kind].parse({ [name]: null }), instance);
    expect(again.settings).toEqual(defaultsOf(kind));
    expect(again.isEnabled).toBe(false);
  });

  test("accepts the spellings of older clients, and no unknown field", () => {
    const name = `status_change_${kind}_notifications`;
    expect(CHANNEL_UPDATES[kind].parse({ [name]: "1" })).toEqual({ [name]: true });
    expect(CHANNEL_UPDATES[kind].safeParse({ nope: 1 }).success).toBe(false);
    expect(CHANNEL_UPDATES[kind].safeParse({ [name]: "maybe" }).success).toBe(false);
  });

  test("is shown with all of its fields, without its secrets to those who may not see them", () => {
    const settings = defaultsOf(kind);
    const open = channelView(7, settings, { seesSecrets: true });
    expect(CHANNEL_VIEWS[kind].strict().parse(open)).toEqual({ id: 7, team_id: 7, ...settings });
    const hidden = Object.keys(CHANNEL_FIELDS[kind]).filter(isChannelSecret);
    expect(hidden.length).toBeGreaterThan(0);
    const view = channelView(7, settings, { seesSecrets: false, message: "Look." });
    expect(CHANNEL_VIEWS[kind].strict().parse(view)).toHaveProperty("message", "Look.");
    expect(Object.keys(view).filter((name) => hidden.includes(name))).toEqual([]);
  });

  test("sends nothing before it has what it needs, and says so", () => {
    const turnedOn = { [kind === "email" ? "smtp_enabled" : `${kind}_enabled`]: true };
    const { isEnabled, message } = changedChannel(kind, defaultsOf(kind), turnedOn, instance);
    expect([isEnabled, message]).toEqual([false, expect.stringContaining("Nothing is sent yet.")]);
  });

  test("has flags that name each field once", () => {
    const flags = Object.keys(CHANNEL_FIELDS[kind]).map((field) => channelFlag(kind, field));
    expect(new Set(flags).size).toBe(flags.length);
    expect(flags).toContain("deployment_failure");
  });

  test("reads settings of an older release, which lacked a field", () => {
    const [field = "", ...others] = Object.keys(defaultsOf(kind));
    const older = Object.fromEntries(others.map((name) => [name, z.unknown().parse(defaultsOf(kind)[name as never])]));
    expect(storedSettings(kind, older)).toHaveProperty(field);
  });
});

test.each([
  ["https://hooks.example/x", true],
  ["http://hooks.example/x", false],
  ["http://127.0.0.1:8080/x", true],
  ["ftp://hooks.example/x", false],
  ["javascript:alert(1)", false],
  ["https://me:secret@hooks.example/x", false],
  ["hooks.example/x", false],
  [`https://hooks.example/${"x".repeat(2100)}`, false],
])("%s as the URL of Discord or Slack: %s", (url, isValid) => {
  expect(CHANNEL_UPDATES.discord.safeParse({ discord_webhook_url: url }).success).toBe(isValid);
  expect(CHANNEL_UPDATES.slack.safeParse({ slack_webhook_url: url }).success).toBe(isValid);
});

test("a webhook may be plain http, in a private network say, but has no password in its URL", () => {
  const parse = (webhook_url: string) => CHANNEL_UPDATES.webhook.safeParse({ webhook_url }).success;
  expect([parse("http://n8n.internal/hook"), parse("https://a:b@n8n.internal/hook")]).toEqual([true, false]);
});

test("an empty text is null, and an address is trimmed", () => {
  expect(CHANNEL_UPDATES.discord.parse({ discord_webhook_url: "" })).toEqual({ discord_webhook_url: null });
  expect(CHANNEL_UPDATES.email.parse({ smtp_from_address: " a@b.example " })).toEqual({
    smtp_from_address: "a@b.example",
  });
});

describe("mail", () => {
  const own = {
    ...defaultsOf("email"),
    ...{ smtp_enabled: true, smtp_host: "mail.example.com", smtp_port: 587, smtp_encryption: "starttls" as const },
    ...{ smtp_from_address: "berth@example.com", smtp_username: "berth", smtp_password: "sesame" },
  };

  test.each([
    [{ smtp_host: "evil.example" }, null, true],
    [{ smtp_port: 2525 }, null, true],
    [{ smtp_encryption: "none" }, null, true],
    [{ smtp_host: "evil.example", smtp_password: "other" }, "other", false],
    [{ smtp_username: "else" }, "sesame", false],
    [{ smtp_host: "mail.example.com" }, "sesame", false],
  ])("a change of %j leaves the password %j", (sent, password, isForgotten) => {
    const { settings, message } = changedChannel("email", own, sent, instance);
    expect(settings.smtp_password).toBe(password);
    expect(message?.includes("password was deleted") ?? false).toBe(isForgotten);
  });

  test("does not send a password in the open, except on this machine", () => {
    const open = { ...own, smtp_encryption: "none" as const };
    expect(Object.keys(missingFields("email", open, instance))).toEqual(["smtp_encryption"]);
    expect(missingFields("email", { ...open, smtp_host: "127.0.0.1" }, instance)).toEqual({});
    expect(missingFields("email", { ...open, smtp_password: null }, instance)).toEqual({});
  });

  test("by the instance needs a server that its operator set", () => {
    const settings = { ...defaultsOf("email"), use_instance_email_settings: true };
    expect(Object.keys(missingFields("email", settings, instance))).toEqual(["use_instance_email_settings"]);
    expect(missingFields("email", settings, { hasInstanceMail: true })).toEqual({});
    const resend = { ...defaultsOf("email"), resend_enabled: true };
    expect(Object.keys(missingFields("email", resend, instance))).toEqual(["resend_api_key", "smtp_from_address"]);
  });
});

test("events that are chosen are those that are on", () => {
  expect(chosenEvents("slack", { deployment_failure_slack_notifications: true, slack_enabled: true })).toEqual([
    "deployment_failure",
  ]);
});

test.each([
  [
    "webhook",
    { webhook_url: "https://h.example/a/b?t=1" },
    "POST https://h.example/a/b?t=1 /a/b?t=1 /a/b",
    "POST *** *** ***",
  ],
  ["telegram", { telegram_token: "12:ab/c" }, "bot12:ab/c bot12%3Aab%2Fc", "bot*** bot***"],
  ["email", { smtp_recipients: "ada@x.example, bob@x.example" }, "550 <bob@x.example>: no", "550 <***>: no"],
  ["email", { smtp_password: "abc" }, "abc is in any text", "abc is in any text"],
  ["pushover", { pushover_user_key: "user-key", pushover_api_token: "user-key-2" }, "user-key-2", "***"],
  ["slack", { slack_enabled: true }, "true", "true"],
] as const)("secrets of %s %j are removed from %s", (_, settings, text, shown) => {
  expect(withoutSecrets(text, settings)).toBe(shown);
});
