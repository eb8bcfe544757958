import { CHANNEL_KINDS } from "@berth/core/notification";
import { notificationSender } from "@berth/notification";
import { type NotificationServer, notificationServer } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
let receiver: NotificationServer;
beforeAll(async () => {
  receiver = await notificationServer();
  const sendNotification = notificationSender({ allowedPrivateHosts: ["127.0.0.1"], instanceMail: undefined });
  api = await served({ sendNotification });
});
afterAll(async () => {
  await api.close();
  await receiver.close();
});

describe.each(CHANNEL_KINDS)("/notifications/%s", (kind) => {
  const path = `/notifications/${kind}`;

  test("answers its settings, and after a change the changed ones", async () => {
    const name = `backup_success_${kind}_notifications`;
    const before = await api.ask("GET", path);
    expect([before.status, before.json[name], before.json.team_id]).toEqual([200, false, api.place.server.team_id]);
    const changed = await api.ask("PATCH", path, { body: { [name]: true } });
    expect([changed.status, changed.json]).toEqual([200, { ...before.json, [name]: true }]);
    expect((await api.ask("GET", path)).json).toEqual(changed.json);
  });

  test("hides what is secret without read:sensitive, as an absent key", async () => {
    const { json: open } = await api.ask("GET", path);
    const { json } = await api.ask("GET", path, { token: await api.tokenWith("read") });
    const hidden = Object.keys(open).filter((key) => !(key in json));
    expect(hidden.length).toBeGreaterThan(0);
    for (const key of Object.keys(json)) expect(key).not.toMatch(/url|token|key|password|recipients|secret|chat_id/);
  });

  test("refuses unknown and wrong fields, and an empty body", async () => {
    const { status, json } = await api.ask("PATCH", path, {
      body: { nope: 1, [`status_change_${kind}_notifications`]: "maybe" },
    });
    expect([status, json.message]).toEqual([422, "Validation failed."]);
    expect(Object.keys(json.errors).toSorted()).toEqual(["nope", `status_change_${kind}_notifications`]);
    expect((await api.ask("PATCH", path)).status).toBe(400);
  });

  test("sends no test before it has what it needs", async () => {
    const { status, json } = await api.ask("POST", `${path}/test`);
    expect([status, Object.keys(json.errors).length > 0]).toEqual([422, true]);
  });
});

test("a test arrives, and what a receiver refuses is 422, what does not answer 503", async () => {
  const test = () => api.ask("POST", "/notifications/webhook/test");
  await api.ask("PATCH", "/notifications/webhook", { body: { webhook_url: receiver.webhookUrl } });
  const sent = await test();
  expect([sent.status, sent.json]).toEqual([200, { message: "Test notification sent." }]);
  expect(receiver.received.at(-1)?.json).toEqual({
    ...{ success: true, event: "test", url: null },
    message: "Test of Berth's notifications. This channel works.",
  });
  receiver.faults.push({ status: 410, body: '{"message":"Gone"}' });
  const refused = await test();
  expect([refused.status, refused.json]).toMatchObject([
    422,
    {
      code: "notification.refused",
      message: "The webhook answered 410: Gone. Check the channel's settings.",
    },
  ]);
  receiver.faults.push({ status: 500 });
  const failed = await test();
  expect([failed.status, failed.json.code]).toEqual([503, "notification.unreachable"]);
  await api.ask("PATCH", "/notifications/webhook", { body: { webhook_url: "http://10.0.0.1/x" } });
  const unallowed = await test();
  expect([unallowed.status, unallowed.text]).toEqual([422, expect.stringContaining("private address")]);
});

test("deliveries are listed in pages, with their total", async () => {
  await api.ask("PATCH", "/notifications/slack", {
    body: { slack_webhook_url: receiver.slackUrl, slack_enabled: "1" },
  });
  for (const name of ["shop", "blog"]) {
    const payload = { resource_name: name };
    await api.stores.events.append({ type: "deployment.failed", resource_uuid: null, payload });
  }
  const { status, json, headers } = await api.ask("GET", "/notifications/deliveries?take=1&channel=slack");
  expect([status, json.length, headers["x-total-count"]]).toEqual([200, 1, "2"]);
  expect(json[0]).toMatchObject({ channel: "slack", title: "blog could not be deployed", state: "pending" });
  expect((await api.ask("GET", "/notifications/deliveries?state=delivered")).json).toEqual([]);
  expect((await api.ask("GET", "/notifications/deliveries?state=lost")).status).toBe(422);
});
