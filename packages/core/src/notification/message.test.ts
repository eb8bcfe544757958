import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultsOf } from "./channel.ts";
import { CHANNEL_MESSAGES, cut, mailOf, recipientsOf } from "./message.ts";
import { type Notification, TEST_NOTIFICATION } from "./notification.ts";

const URLS = { telegram: "https://telegram.test", pushover: "https://pushover.test", resend: "https://resend.test" };
const failed: Notification = {
  setting: "deployment_failure",
  event: "deployment_failed",
  isSuccess: false,
  title: "shop could not be deployed",
  text: "It ended with code 1.",
  url: "https://berth.example/deployments/d1",
  fields: { application_name: "shop", application_uuid: "a1" },
};
const hostile = fc.record({
  title: fc.string({ unit: "binary" }),
  text: fc.string({ unit: "binary", maxLength: 6000 }),
});
const written = (kind: keyof typeof CHANNEL_MESSAGES, notification: Notification, settings: object = {}) =>
  CHANNEL_MESSAGES[kind](notification, { ...defaultsOf(kind), ...settings }, URLS);

/** The text of Discord's Markdown, and whether any of it is markup. */
function plainOfDiscord(markdown: string): { readonly text: string; readonly hasMarkup: boolean } {
  let text = "";
  let hasMarkup = false;
  for (let at = 0; at < markdown.length; at += 1) {
    const character = markdown.charAt(at);
    if (character === "\\" && at + 1 < markdown.length) {
      at += 1;
      text += markdown.charAt(at);
    } else {
      hasMarkup ||= /[*_~`|>[\]()#<]/.test(character);
      text += character;
    }
  }
  return { text, hasMarkup };
}

describe("discord", () => {
  test("shows any text as it is: nothing in it is markup or mentions anybody", () => {
    fc.assert(
      fc.property(hostile, (texts) => {
        const { body } = written("discord", { ...failed, ...texts });
        const [embed] = body.embeds as { title: string; description: string }[];
        for (const [field, shown, max] of [
          [texts.title, embed?.title ?? "", 256],
          [texts.text, embed?.description ?? "", 2000],
        ] as const) {
          const { text, hasMarkup } = plainOfDiscord(shown);
          expect(hasMarkup).toBe(false);
          expect(shown.length).toBeLessThanOrEqual(max);
          if (!shown.endsWith("…")) expect(text).toBe(field);
        }
        expect(body.allowed_mentions).toEqual({ parse: ["everyone"] });
        expect(body.content).toBe("@here");
      }),
    );
  });

  test("mentions people for failures only, and not where that is turned off", () => {
    expect(written("discord", { ...failed, isSuccess: true }).body).toMatchObject({ allowed_mentions: { parse: [] } });
    const { body } = written("discord", failed, { discord_ping_enabled: false });
    expect(body).toMatchObject({ allowed_mentions: { parse: [] } });
    expect(body).not.toHaveProperty("content");
  });
});

test("slack shows any text as it is, within its limits", () => {
  fc.assert(
    fc.property(hostile, (texts) => {
      const { body } = written("slack", { ...failed, ...texts });
      expect(body.text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
      const blocks = body.blocks as { type: string; text: { type: string; text: string } }[];
      // The last one is the link, which Berth writes itself.
      for (const { text } of blocks.slice(0, -1)) expect(text.type).toBe("plain_text");
      expect(blocks.at(-1)?.text.text).toBe("<https://berth.example/deployments/d1|Open in Berth>");
    }),
  );
});

test("telegram gets plain text without markup, within its limit, in the topic of its event", () => {
  fc.assert(
    fc.property(hostile, (texts) => {
      const { body } = written("telegram", { ...failed, ...texts });
      expect(body).not.toHaveProperty("parse_mode");
      expect(String(body.text).length).toBeLessThanOrEqual(4096);
    }),
  );
  const settings = {
    ...{ telegram_token: "123:a/b?c", telegram_chat_id: "-100" },
    ...{ telegram_notifications_deployment_failure_thread_id: "9" },
  };
  expect(written("telegram", failed, settings)).toMatchObject({
    url: "https://telegram.test/bot123:a%2Fb%3Fc/sendMessage",
    body: { chat_id: "-100", message_thread_id: 9 },
  });
  expect(written("telegram", TEST_NOTIFICATION, settings).body).not.toHaveProperty("message_thread_id");
});

test("pushover gets plain text within its limits, and failures with a higher priority", () => {
  fc.assert(
    fc.property(hostile, (texts) => {
      const { body } = written("pushover", { ...failed, ...texts });
      expect(body).not.toHaveProperty("html");
      expect(String(body.title).length).toBeLessThanOrEqual(250);
      expect(String(body.message).length).toBeLessThanOrEqual(1024);
    }),
  );
  expect(written("pushover", failed).body.priority).toBe(1);
  expect(written("pushover", TEST_NOTIFICATION).body.priority).toBe(0);
});

test("a webhook gets the common keys, which no further field replaces", () => {
  const fields = { success: "x", event: "y", url: "z", message: "w", project: "p" };
  expect(written("webhook", { ...failed, fields }, { webhook_url: "https://h.example/" })).toEqual({
    url: "https://h.example/",
    body: {
      project: "p",
      success: false,
      message: "shop could not be deployed. It ended with code 1.",
      event: "deployment_failed",
      url: "https://berth.example/deployments/d1",
    },
  });
});

test("a mail's subject is one line, whatever a name contains", () => {
  fc.assert(
    fc.property(hostile, (texts) => {
      const { subject } = mailOf({ ...failed, ...texts });
      expect(subject).not.toMatch(/[\r\n]/);
      expect(subject.length).toBeLessThanOrEqual(200);
    }),
  );
  expect(mailOf(failed).text).toContain("It ended with code 1.\n\nhttps://berth.example/deployments/d1");
});

test("a text that is cut ends with whole characters", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), fc.integer({ min: 1, max: 60 }), (text, max) => {
      const short = cut(text, max);
      expect(short.length).toBeLessThanOrEqual(max);
      expect(short.isWellFormed()).toBe(text.isWellFormed() || short.isWellFormed());
      if (text.length <= max) expect(short).toBe(text);
      else expect(short.endsWith("…")).toBe(true);
    }),
  );
});

test.each([
  [null, []],
  ["", []],
  ["a@x.example", ["a@x.example"]],
  [" a@x.example;b@x.example,\na@x.example ", ["a@x.example", "b@x.example"]],
])("recipients of %j are %j", (text, addresses) => {
  expect(recipientsOf(text)).toEqual(addresses);
});
