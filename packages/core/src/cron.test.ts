import { describe, expect, test } from "vitest";
import { cronOf, isFrequency } from "./cron.ts";

describe("a frequency", () => {
  test.each([["* * * * *"], ["*/5 0-4 1,15 * 1"], ["daily"], ["every_minute"], ["@yearly"], ["0 0 29 2 *"]])(
    "may be %s",
    (text) => {
      expect(isFrequency(text)).toBe(true);
    },
  );
  test.each([[""], ["often"], ["* * * *"], ["* * * * * *"], ["61 * * * *"], ["0 0 31 2 *"], ["; id"]])(
    "may not be %j",
    (text) => {
      expect(isFrequency(text)).toBe(false);
    },
  );
  test("of a word is its expression", () => {
    expect([cronOf("weekly"), cronOf("1 2 3 4 5")]).toEqual(["0 0 * * 0", "1 2 3 4 5"]);
  });
});
