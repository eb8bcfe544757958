import { createHmac } from "node:crypto";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import {
  type ChannelKind,
  defaultsOf,
  NO_FACTS,
  type Notification,
  notificationOf,
  TEST_NOTIFICATION,
} from "@berth/core/notification";
import type { NotificationSender } from "@berth/core/ports";
import { certificateIssuer } from "@berth/host";
import { mailServer, NOTIFICATION_LOGIN, type NotificationServer, notificationServer } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type NotificationSenderOptions, notificationSender } from "./index.ts";

let server: NotificationServer;
beforeEach(async () => {
  server = await notificationServer();
});
afterEach(() => server.close());

const LOOPBACK = { allowedPrivateHosts: ["127.0.0.1"], instanceMail: undefined };
const UUID = "e0123456789abcdef0123456";

const FAILED: Notification = notificationOf(
  {
    type: "deployment.failed",
    resource_uuid: "a1",
    payload: { resource_name: "shop", deployment_uuid: "d1", error: "It ended with code 1." },
  },
  NO_FACTS,
  "https://berth.example.com",
) as Notification;

const mine = (options: Partial<NotificationSenderOptions> = {}): NotificationSender =>
  notificationSender({
    ...{ ...LOOPBACK, secondsMax: 2 },
    urls: { telegram: server.url, pushover: server.url, resend: server.url },
    ...options,
  });

/** Valid settings of each kind. */
const settingsOf = (kind: ChannelKind): object => ({ ...defaultsOf(kind), ...VALID(server)[kind] });
const VALID = ({ discordUrl, slackUrl, webhookUrl }: NotificationServer): Record<ChannelKind, object> => {
  const { telegram_token, telegram_chat_id, pushover_api_token, pushover_user_key, resend_api_key } =
    NOTIFICATION_LOGIN;
  return {
    discord: { discord_webhook_url: discordUrl },
    slack: { slack_webhook_url: slackUrl },
    telegram: { telegram_token, telegram_chat_id, telegram_notifications_deployment_failure_thread_id: "77" },
    pushover: { pushover_api_token, pushover_user_key },
    webhook: { webhook_url: webhookUrl },
    email: { resend_enabled: true, resend_api_key, smtp_from_address: "berth@example.com" },
  };
};

const KINDS = ["discord", "slack", "telegram", "pushover", "webhook", "email"] as const;

const sent = (kind: ChannelKind, settings: object = {}, options: Partial<NotificationSenderOptions> = {}) =>
  mine(options)({
    ...{ uuid: UUID, kind, notification: FAILED, memberAddresses: ["ada@example.com"] },
    settings: { ...settingsOf(kind), ...settings },
  });

describe.each(KINDS)("%s", (kind) => {
  test("accepts a notification", async () => {
    expect(await sent(kind)).toEqual({ isDelivered: true });
    expect(server.received).toHaveLength(1);
    expect(server.received[0]?.body).toContain("shop could not be deployed");
  });

  test("accepts hostile texts as they are, of any length", async () => {
    const text = `@everyone <!channel> [x](https://evil.example) *b* _i_ \`c\` "q" & \u0000 \u{1f600} ${"ü".repeat(30_000)}`;
    const notification = { ...FAILED, title: `${"@here ".repeat(100)}\r\nBcc: eve@example.com`, text };
    const result = await mine()({
      ...{ uuid: UUID, kind, settings: settingsOf(kind), notification },
      memberAddresses: ["ada@example.com"],
    });
    expect(result).toEqual({ isDelivered: true });
  });

  test.each([
    [429, false],
    [408, false],
    [500, false],
    [503, false],
    [400, true],
    [404, true],
    [410, true],
  ])("answers %i, which is final: %s", async (status, isFinal) => {
    server.faults.push({ status, body: "no such\nplace", headers: { "retry-after": "90" } });
    const result = await sent(kind);
    expect(result).toMatchObject({ isDelivered: false, isFinal, retryAfterSeconds: 90 });
    expect(result).toHaveProperty("problem", expect.stringMatching(new RegExp(`answered ${status}: no such place$`)));
  });

  test("does not follow a redirect, so that nothing secret goes elsewhere", async () => {
    const elsewhere = await notificationServer();
    try {
      server.faults.push({ status: 307, headers: { location: elsewhere.webhookUrl } });
      expect(await sent(kind)).toMatchObject({
        isDelivered: false,
        isFinal: true,
        problem: expect.stringMatching(/redirect/),
      });
      expect([server.received.length, elsewhere.received]).toEqual([1, []]);
    } finally {
      await elsewhere.close();
    }
  });

  test.each(["silent", "endless", "broken"] as const)("may be sent again when the answer is %s", async (fault) => {
    server.faults.push(fault);
    const began = performance.now();
    expect(await sent(kind, {}, { secondsMax: 1 })).toMatchObject({ isDelivered: false, isFinal: false });
    expect(performance.now() - began).toBeLessThan(5000);
  });

  test("is not called at a private address that is not allowed", async () => {
    const result = await sent(kind, {}, { allowedPrivateHosts: [] });
    expect(result).toMatchObject({
      isDelivered: false,
      isFinal: true,
      problem: expect.stringMatching(/private address/),
    });
    expect(server.received).toEqual([]);
  });

  test("shows no secret in a problem, whatever a receiver answers", async () => {
    const secrets = Object.entries(settingsOf(kind))
      .filter(([name, value]) => typeof value === "string" && !name.includes("thread"))
      .map(([, value]) => String(value));
    expect(secrets.length).toBeGreaterThan(0);
    for (const secret of secrets) {
      server.faults.push({ status: 400, body: JSON.stringify({ message: `Refused ${secret}` }) });
      const result = await sent(kind);
      expect(result).toHaveProperty("problem", expect.stringMatching(/answered 400: Refused \*\*\*/));
    }
    await server.close();
    const { problem } = (await sent(kind)) as { problem: string };
    for (const secret of secrets) expect(problem).not.toContain(secret);
    expect(problem).not.toContain("token");
    server = await notificationServer();
  });
});

test("refusals of the services are shown in their words", async () => {
  const { url } = server;
  const problems = [
    await sent("discord", { discord_webhook_url: `${url}/api/webhooks/1/wrong-one` }),
    await sent("slack", { slack_webhook_url: `${url}/services/T/B/wrong-one` }),
    await sent("telegram", { telegram_token: "123:wrong" }),
    await sent("telegram", { telegram_chat_id: "@nobody" }),
    await sent("pushover", { pushover_api_token: "wrong-token" }),
    await sent("email", { resend_api_key: "wrong-key" }),
    await sent("webhook", { webhook_url: `${url}/nowhere` }),
  ].map((result) => (result.isDelivered ? "delivered" : result.problem));
  expect(problems).toEqual([
    "Discord answered 401: Invalid Webhook Token",
    "Slack answered 404: no_service",
    "Telegram answered 401: Unauthorized",
    "Telegram answered 400: Bad Request: chat not found",
    "Pushover answered 400: application token is invalid",
    "Resend answered 401: API key is invalid",
    "The webhook answered 404.",
  ]);
});

test("Telegram says in the body when to send again", async () => {
  const body = { ok: false, error_code: 429, description: "Too Many Requests", parameters: { retry_after: 35 } };
  server.faults.push({ status: 429, body: JSON.stringify(body) });
  expect(await sent("telegram")).toMatchObject({ isFinal: false, retryAfterSeconds: 35 });
});

test("a message for a topic of Telegram names it", async () => {
  await sent("telegram");
  expect(server.received[0]?.json.message_thread_id).toBe(77);
});

test("a webhook has the delivery's uuid, and a signature if there is a secret", async () => {
  await sent("webhook");
  await sent("webhook", { webhook_secret: "sesame-0815" });
  const [open, signed] = server.received;
  expect([open?.headers["x-berth-delivery"], open?.headers["x-berth-signature-256"]]).toEqual([UUID, undefined]);
  const hmac = createHmac("sha256", "sesame-0815")
    .update(signed?.body ?? "")
    .digest("hex");
  expect(signed?.headers["x-berth-signature-256"]).toBe(`sha256=${hmac}`);
  expect(open?.json).toEqual({
    success: false,
    message: "shop could not be deployed. It ended with code 1.",
    event: "deployment_failed",
    url: "https://berth.example.com/deployments/d1",
    application_name: "shop",
    application_uuid: "a1",
    deployment_uuid: "d1",
    deployment_url: "https://berth.example.com/deployments/d1",
    fqdn: null,
  });
});

describe("mail", () => {
  const smtp = (url: string, fields: object = {}) => {
    const { hostname, port, username, password } = new URL(url);
    return {
      ...{ resend_enabled: false, smtp_enabled: true, smtp_encryption: "none" },
      ...{ smtp_host: hostname, smtp_port: Number(port) },
      ...(username !== "" && { smtp_username: username, smtp_password: password }),
      ...{ smtp_from_address: "berth@example.com", smtp_from_name: "Berth, at home" },
      ...fields,
    };
  };

  test("goes to all members, or to those who are named, each without the others", async () => {
    const mails = await mailServer({ user: "berth", password: "sesame" });
    try {
      const members = ["ada@example.com", "bob@example.com"];
      for (const smtp_recipients of [null, "eve@example.com, carl@example.com;eve@example.com"]) {
        const settings = { ...settingsOf("email"), ...smtp(mails.url, { smtp_recipients }) };
        const result = await mine()({
          ...{ uuid: UUID, kind: "email", settings, notification: TEST_NOTIFICATION },
          memberAddresses: members,
        });
        expect(result).toEqual({ isDelivered: true });
      }
      expect(mails.mails.map(({ from, to }) => [from, to.filter((address) => address !== from).toSorted()])).toEqual([
        ["berth@example.com", members],
        ["berth@example.com", ["carl@example.com", "eve@example.com"]],
      ]);
      expect(mails.mails[0]).toMatchObject({
        subject: "Test of Berth's notifications",
        text: expect.stringMatching(/This channel works\./),
      });
    } finally {
      await mails.close();
    }
  });

  test("over the instance's server goes to members only, whoever is named", async () => {
    const mails = await mailServer();
    const instanceMail = { url: mails.url, from: "Berth <instance@example.com>" };
    const settings = { resend_enabled: false, use_instance_email_settings: true };
    try {
      const named = { ...settings, smtp_recipients: "stranger@example.com,Ada@example.com" };
      expect(await sent("email", named, { instanceMail, allowedPrivateHosts: [] })).toEqual({ isDelivered: true });
      const strangers = { ...settings, smtp_recipients: "stranger@example.com" };
      expect(await sent("email", strangers, { instanceMail })).toMatchObject({
        isFinal: true,
        problem: expect.stringMatching(/Nobody/),
      });
      expect(await sent("email", settings)).toMatchObject({
        isFinal: true,
        problem: expect.stringMatching(/BERTH_SMTP_URL/),
      });
      expect(mails.mails.map(({ to }) => to.filter((address) => !address.startsWith("instance")))).toEqual([
        ["Ada@example.com"],
      ]);
    } finally {
      await mails.close();
    }
  });

  test("is refused by a wrong password for good, without showing it", async () => {
    const mails = await mailServer({ user: "berth", password: "right" });
    try {
      const result = await sent("email", smtp(mails.url, { smtp_password: "wrong-password" }));
      expect(result).toMatchObject({ isDelivered: false, isFinal: true, problem: expect.stringMatching(/535/) });
      expect(JSON.stringify(result)).not.toContain("wrong-password");
    } finally {
      await mails.close();
    }
  });

  test.each(["tls", "starttls"] as const)(
    "is sent over %s to a server whose certificate is trusted, and to no other",
    async (by) => {
      const notAfter = new Date(Date.now() + 3_600_000);
      const { authority, certificate, key } = await certificateIssuer.issue({
        ...{ names: ["localhost", "127.0.0.1"], notBefore: new Date(Date.now() - 60_000), notAfter },
        authority: { name: "Test", notAfter },
      });
      const account = { user: "berth", password: "sesame" };
      const mails = await mailServer({ ...account, encryption: { by, certificate, key } });
      const trusted = getCACertificates("default");
      try {
        const settings = { ...smtp(mails.url, { smtp_encryption: by }), smtp_host: "localhost" };
        const allowedPrivateHosts = ["localhost"];
        const refused = await sent("email", settings, { allowedPrivateHosts });
        expect(refused).toMatchObject({ isDelivered: false, problem: expect.stringMatching(/certificate/) });
        expect(mails.mails).toEqual([]);
        setDefaultCACertificates([...trusted, authority.certificate]);
        expect(await sent("email", settings, { allowedPrivateHosts })).toEqual({ isDelivered: true });
        expect(mails.mails).toHaveLength(1);
      } finally {
        setDefaultCACertificates(trusted);
        await mails.close();
      }
    },
  );

  test("is not sent in the open where STARTTLS is asked for and missing", async () => {
    const mails = await mailServer();
    try {
      const result = await sent("email", smtp(mails.url, { smtp_encryption: "starttls" }));
      expect(result).toMatchObject({ isDelivered: false });
      expect(mails.mails).toEqual([]);
    } finally {
      await mails.close();
    }
  });

  test("is not sent to a private address that is not allowed, nor for longer than the limit", async () => {
    const mails = await mailServer();
    const refused = await sent("email", smtp(mails.url), { allowedPrivateHosts: [] });
    expect(refused).toMatchObject({ isFinal: true, problem: expect.stringMatching(/private address/) });
    await mails.close();
    expect(await sent("email", smtp(mails.url))).toMatchObject({ isDelivered: false, isFinal: false });
    // A server of another protocol, which waits for the client to speak.
    const began = performance.now();
    const result = await sent("email", smtp(server.url), { secondsMax: 1 });
    expect(result).toMatchObject({ isDelivered: false, isFinal: false });
    expect(performance.now() - began).toBeLessThan(5000);
  });
});
