import { setImmediate as turn } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import { isMoment } from "@berth/core/testing";
import { WEBHOOK_PAYLOADS } from "@berth/testing";
import { afterAll, describe, expect, test } from "vitest";
import { readWebhook, type SentWebhook, webhookReader } from "./report.ts";

const reader = webhookReader();
afterAll(() => reader.close());

const sent = (payload: object | string, contentType = "application/json"): SentWebhook => ({
  provider: "github",
  event: "push",
  contentType,
  body: Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload)),
});
const push = (files: readonly string[]) => sent(WEBHOOK_PAYLOADS.github.push({ files }).payload);
const paths = (count: number) => Array.from({ length: count }, (_, at) => `src/some/folder/that/is/deep/file-${at}.ts`);
const waits = new AbortController().signal;

describe("a large delivery", () => {
  test("is read as a small one is", async () => {
    const large = push(paths(5000));
    expect(await reader.read(large, waits)).toEqual(readWebhook(large));
  });

  test("is read while others are served", async () => {
    const worst = [
      push(paths(220_000)),
      sent({ many: Array.from({ length: 240_000 }, (_, at) => ({ [`a${at}`]: "x".repeat(60) })) }),
      sent({ long: "x".repeat(26_000_000) }),
    ];
    for (const one of worst) {
      let turns = 0;
      let isRead = false;
      const reading = reader.read(one, waits).catch(isDomainError);
      void reading.then(() => {
        isRead = true;
      });
      for (; !isRead; turns += 1) await turn();
      // Parsing in this thread would leave only two or three turns.
      expect(turns).toBeGreaterThan(20);
    }
  });

  test("is handed over in a moment, with no more files than anybody goes through", async () => {
    const report = await reader.read(push(paths(220_000)), waits);
    expect(report).toMatchObject({ type: "change", intents: [{ branch: "main", files: undefined }] });
    const most = await reader.read(push(paths(49_999)), waits);
    expect(isMoment(() => structuredClone(most))).toBe(true);
  });

  test("is refused for the reasons of a small one", async () => {
    const problems = [
      sent(`{"a":"${"x".repeat(300_000)}"`),
      sent({ a: "x".repeat(300_000) }),
      sent("x".repeat(300_000), "a/b"),
    ];
    for (const one of problems) {
      const refusal = await reader.read(one, waits).catch((error: unknown) => error);
      expect(isDomainError(refusal)).toBe(true);
      expect(() => readWebhook(one)).toThrow(refusal as Error);
    }
  });

  test("is given up with its request", async () => {
    const gone = new AbortController();
    const reading = reader.read(push(paths(220_000)), gone.signal);
    gone.abort();
    await expect(reading).rejects.toThrow("Invalid request.");
    expect(await reader.read(push(paths(5000)), waits)).toHaveProperty("type", "change");
  });

  test.each([
    ["time", { secondsMax: 0.001, memoryMbMax: 512 }],
    ["memory", { secondsMax: 60, memoryMbMax: 16 }],
  ])("is refused when it takes too much %s", async (_, limits) => {
    const narrow = webhookReader(limits);
    try {
      const refusal = await narrow.read(push(paths(220_000)), waits).catch((error: unknown) => error);
      expect(isDomainError(refusal, "request.malformed") && refusal.details).toEqual({
        error: "It takes too much time or memory to parse.",
      });
    } finally {
      await narrow.close();
    }
  });
});

test("a small delivery is read in a moment, whatever it consists of", () => {
  for (const text of [`[${"{},".repeat(87_000)}{}]`, `{${paths(5000).map((path) => `"${path}":1`)}}`]) {
    expect(isMoment(() => expect(() => readWebhook(sent(text))).toThrow())).toBe(true);
  }
});
