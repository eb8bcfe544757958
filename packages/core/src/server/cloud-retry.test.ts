import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cloudRetryAfterSeconds, nextCloudWait } from "./cloud-retry.ts";

/** All waits of one request if every call is refused with these delays. */
function waits(...delays: (number | undefined)[]): number[] {
  const made: number[] = [];
  for (const delay of delays) {
    const seconds = nextCloudWait(
      made.length,
      made.reduce((sum, wait) => sum + wait, 0),
      delay,
    );
    if (seconds === undefined) break;
    made.push(seconds);
  }
  return made;
}

describe("waiting for a provider's rate limit", () => {
  test.each([
    ["as long as the provider says", [3, 3, 3, 3], [3, 3, 3]],
    ["up to a minute in all", [50, 20, 20], [50, 8, 2]],
    ["shorter steps than a delay that is too long", [3600, 3600, 3600, 3600], [2, 8, 20]],
    ["in steps where no delay is named", [undefined, undefined, undefined, undefined], [2, 8, 20]],
    ["no longer when nothing is left", [60, 1], [60]],
  ])("lasts %s", (_, delays, expected) => {
    expect(waits(...delays)).toEqual(expected);
  });

  test("is never more than three retries and sixty seconds", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(10_000), { nil: undefined }), { maxLength: 20 }), (delays) => {
        const made = waits(...delays);
        expect(made.length).toBeLessThanOrEqual(3);
        expect(made.reduce((sum, wait) => sum + wait, 0)).toBeLessThanOrEqual(60);
      }),
    );
  });
});

describe("the delay that a provider names", () => {
  const now = new Date("2026-01-01T00:00:00.500Z");
  const unix = Math.floor(now.getTime() / 1000);
  test.each([
    [{ retryAfter: "37", reset: null }, 37],
    [{ retryAfter: "37", reset: String(unix + 5) }, 37],
    [{ retryAfter: "Thu, 01 Jan 2026 00:01:00 GMT", reset: null }, 60],
    [{ retryAfter: null, reset: String(unix + 90) }, 90],
    [{ retryAfter: "soon", reset: String(unix + 90) }, 90],
    [{ retryAfter: null, reset: String(unix - 90) }, 1],
    [{ retryAfter: "0", reset: null }, 1],
    [{ retryAfter: "999999999", reset: null }, 86_400],
    [{ retryAfter: null, reset: null }, undefined],
    [{ retryAfter: "-5", reset: "never" }, undefined],
  ])("of %o is %s seconds", (headers, expected) => {
    expect(cloudRetryAfterSeconds(headers, now)).toBe(expected);
  });
});
