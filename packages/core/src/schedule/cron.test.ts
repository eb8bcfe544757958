import { describe, expect, test } from "vitest";
import { cronOf, isFrequency, timesOf, zoneOf } from "./cron.ts";

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

/** The run times of a frequency, as UTC. */
const runs = (frequency: string, timezone: string, from: string, count: number) => {
  const times: string[] = [];
  for (let time = new Date(from); times.length < count; ) {
    const next = timesOf(frequency, timezone)(time);
    if (next === undefined) break;
    times.push(next.toISOString().slice(5, 16));
    time = next;
  }
  return times;
};

describe("the hour that does not exist", () => {
  test.each([
    // Skipped hours: 02:00 to 03:00 in Berlin, at 01:00 UTC; the same in New York at 07:00 UTC.
    ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T00:30"]],
    ["0 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T00:00"]],
    ["0 3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-29T01:00", "03-30T01:00"]],
    ["30 * * * *", "Europe/Berlin", "2026-03-28T23:45:00Z", ["03-29T00:30", "03-29T01:30", "03-29T02:30"]],
    ["daily", "Europe/Berlin", "2026-03-28T12:00:00Z", ["03-28T23:00", "03-29T22:00"]],
    ["30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["03-08T07:00", "03-09T06:30"]],
    ["30 * * * *", "America/New_York", "2026-03-08T05:45:00Z", ["03-08T06:30", "03-08T07:30"]],
    ["30 2 * * *", "UTC", "2026-03-28T12:00:00Z", ["03-29T02:30", "03-30T02:30"]],
  ])("holds up no run: %s in %s", (frequency, timezone, from, expected) => {
    expect(runs(frequency, timezone, from, expected.length)).toEqual(expected);
  });
});

describe("the hour that comes twice", () => {
  test.each([
    // Repeated hours: 02:00 to 03:00 in Berlin, at 00:00 and 01:00 UTC; 01:00 to 02:00 in New York, at 05:00 and
    // 06:00.
    ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["10-25T00:30", "10-26T01:30"]],
    ["0 3 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", ["10-25T02:00", "10-26T02:00"]],
    ["30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", ["11-01T05:30", "11-02T06:30"]],
    // Asked between the two: the first run is not repeated.
    ["30 1 * * *", "America/New_York", "2026-11-01T05:45:00Z", ["11-02T06:30"]],
  ])("has one run of a time of the day: %s in %s", (frequency, timezone, from, expected) => {
    expect(runs(frequency, timezone, from, expected.length)).toEqual(expected);
  });
  test.each([
    ["30 * * * *", "Europe/Berlin", "2026-10-24T23:45:00Z", ["10-25T00:30", "10-25T01:30", "10-25T02:30"]],
    ["*/30 * * * *", "America/New_York", "2026-11-01T05:15:00Z", ["11-01T05:30", "11-01T06:00", "11-01T06:30"]],
    ["every_minute", "Europe/Berlin", "2026-10-25T00:58:30Z", ["10-25T00:59", "10-25T01:00", "10-25T01:01"]],
  ])("has every run of what comes all the time: %s in %s", (frequency, timezone, from, expected) => {
    expect(runs(frequency, timezone, from, expected.length)).toEqual(expected);
  });
});

test("a zone that no clock knows is UTC", () => {
  expect([zoneOf("Mars/Olympus"), zoneOf(""), zoneOf("Europe/Berlin")]).toEqual(["UTC", "UTC", "Europe/Berlin"]);
  expect(timesOf("daily", "Mars/Olympus")(new Date("2026-05-01T12:00:00Z"))).toEqual(new Date("2026-05-02T00:00:00Z"));
});
