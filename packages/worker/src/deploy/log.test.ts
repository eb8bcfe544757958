import type { DeploymentLogLine } from "@berth/core/deploy";
import { redactor } from "@berth/host";
import { until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { type DeploymentLogOptions, deploymentLog } from "./log.ts";

type Line = Omit<DeploymentLogLine, "seq">;

function setUp(change: Partial<DeploymentLogOptions["settings"]> = {}, secrets: readonly string[] = []) {
  const batches: Line[][] = [];
  const warnings: string[] = [];
  let failures = 0;
  const warn = (message: string) => void warnings.push(message);
  const log = deploymentLog({
    deployments: {
      appendLog: async (_id, lines) => {
        if (failures > 0) {
          failures -= 1;
          throw new Error("The database is away.");
        }
        batches.push([...lines]);
      },
    },
    deploymentId: 1,
    clock: { now: () => new Date(0) },
    logger: { debug: warn, info: warn, warn, error: warn },
    settings: { logFlushMs: 5, logBatchLines: 3, logLinesMax: 100, logBytesMax: 10_000, ...change },
    redactOwn: redactor(secrets),
    secrets,
    redactor,
  });
  const texts = () => batches.flat().map(({ output }) => output);
  return { log, batches, texts, warnings, failNext: (count: number) => (failures = count) };
}

describe("the log of a deployment", () => {
  test("is written in batches, every line once and in order", async () => {
    const { log, batches, texts } = setUp();
    const expected = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    for (const text of expected) log.line("build", text, "stdout");
    await log.close();
    expect(texts()).toEqual(expected);
    expect(Math.max(...batches.map(({ length }) => length))).toBe(3);
  });

  test("shows a line soon, without waiting for more", async () => {
    const { log, texts } = setUp();
    log.line("build", "one", "stdout");
    await until(() => texts().length === 1, { what: "it is written" });
  });

  test("holds no secret, in whatever is written or said", async () => {
    const { log, texts } = setUp({}, ["hunter2"]);
    log.line("build", "password is hunter2", "stdout");
    log.line("build", "aHVudGVyMg== decoded", "stderr");
    log.say("build", "It failed: hunter2");
    await log.close();
    expect(texts()).toEqual(["password is [REDACTED]", "[REDACTED] decoded", "It failed: [REDACTED]"]);
    expect(log.redact("a hunter2\nb")).toBe("a [REDACTED]\nb");
  });

  test("hides a plain word that is told to be a secret in what others write, not in our own sentences", async () => {
    const { log, texts } = setUp();
    log.hide(["release"]);
    log.say("build", "Takes the release before it");
    log.line("build", "the release is", "stdout");
    await log.close();
    expect(texts()).toEqual(["Takes the release before it", "the [REDACTED] is"]);
  });

  test("hides what is told to be a secret later, beside what was one before", async () => {
    const { log, texts } = setUp({}, ["hunter2"]);
    log.hide(["-----BEGIN KEY-----\nc2VjcmV0IGtleQ\n-----END KEY-----"]);
    log.line("checkout", "hunter2 and c2VjcmV0IGtleQ", "stdout");
    log.say("checkout", "It failed: c2VjcmV0IGtleQ");
    await log.close();
    expect(texts()).toEqual(["[REDACTED] and [REDACTED]", "It failed: [REDACTED]"]);
    expect(log.redact("c2VjcmV0IGtleQ of hunter2")).toBe("[REDACTED] of [REDACTED]");
  });

  test.each([{ logLinesMax: 5 }, { logBytesMax: 30 }])(
    "says so when it is full (%j), and continues with our own lines",
    async (change) => {
      const { log, texts } = setUp(change);
      for (let index = 0; index < 50; index++) log.line("build", `line ${index}`, "stdout");
      log.say("build", "build done");
      await log.close();
      expect(texts().slice(0, -2)).toEqual(
        texts()
          .slice(0, -2)
          .map((_, index) => `line ${index}`),
      );
      expect(texts().length).toBeLessThan(10);
      expect(texts().at(-2)).toMatch(/^The log is full after \d+ lines; the rest of the output is left out\.$/);
      expect(texts().at(-1)).toBe("build done");
    },
  );

  test("survives a database that is away for a moment", async () => {
    const { log, texts, warnings, failNext } = setUp();
    failNext(2);
    log.line("build", "one", "stdout");
    await log.close();
    expect(texts()).toEqual(["one"]);
    expect(warnings).toEqual([]);
  });

  test("holds only what the database can", async () => {
    const { log, texts } = setUp();
    log.line("build", "a\0b\uD800c", "stdout");
    log.line("build", "x".repeat(100_000), "stdout");
    log.say("build", "two\nlines");
    await log.close();
    expect(texts()[0]).toBe("a\uFFFDb\uFFFDc");
    expect(texts().at(-2)).toBe("two");
    expect(Math.max(...texts().map(({ length }) => length))).toBeLessThanOrEqual(65_536);
  });
});
