import { expect, test } from "vitest";
import { plainTimestamp, timestamp, timestampOrNull } from "./timestamp.ts";

test("timestamps have six digits of a second and the zone, plain ones neither", () => {
  const date = new Date("2026-01-02T03:04:05.678Z");
  expect(timestamp(date)).toBe("2026-01-02T03:04:05.678000Z");
  expect(plainTimestamp(date)).toBe("2026-01-02 03:04:05");
  expect(timestampOrNull(null)).toBeNull();
});
