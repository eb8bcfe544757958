import { describe, expect, test } from "vitest";
import { diskUsage, nextDiskCheck } from "./disk-usage.ts";

const GIB = 1024 ** 3;

describe("a look at a server's disk", () => {
  test.each([
    ["0 23 * * *", "UTC", "2026-03-01T22:00:00Z", "2026-03-01T22:59:59Z", false],
    ["0 23 * * *", "UTC", "2026-03-01T22:00:00Z", "2026-03-01T23:00:00Z", true],
    ["0 23 * * *", "UTC", "2026-03-01T23:00:00Z", "2026-03-02T22:59:00Z", false],
    ["0 23 * * *", "Europe/Berlin", "2026-03-01T21:00:00Z", "2026-03-01T22:00:00Z", true],
    ["hourly", "UTC", "2026-03-01T21:30:00Z", "2026-03-01T22:00:01Z", true],
    ["every_minute", "UTC", "2026-03-01T21:30:30Z", "2026-03-01T21:30:59Z", false],
  ])("at %s in %s, after %s, is due at %s: %s", (frequency, zone, since, now, isDue) => {
    const rule = { server_disk_usage_check_frequency: frequency, server_timezone: zone };
    const next = nextDiskCheck(rule, new Date(since));
    expect(next !== null && next <= new Date(now)).toBe(isDue);
  });

  test.each([
    [79, false],
    [80, true],
    [100, true],
  ])("finds %i %% used to be too much: %s", (usedPercent, isHigh) => {
    const disk = { totalBytes: 100 * GIB, freeBytes: (100 - usedPercent) * GIB };
    expect(diskUsage(disk, { server_disk_usage_notification_threshold: 80 })).toEqual({ usedPercent, isHigh });
  });
});
