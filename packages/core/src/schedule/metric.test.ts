import { expect, test } from "vitest";
import { metricOf, type UsageReading } from "./metric.ts";

const reading = (seconds: number, usage: Partial<UsageReading["usage"]> = {}, deploymentUuid = "d1"): UsageReading => ({
  at: new Date(seconds * 1000),
  deploymentUuid,
  usage: { processes: 2, memoryBytes: 1000.4, cpuSeconds: 0, ...usage },
});

test("the first sample of a release counts nothing", () => {
  const one = reading(0, { networkBytes: { in: 5, out: 6 } });
  const counts = { cpu_percent: null, network_received_bytes: null, network_sent_bytes: null, disk_read_bytes: null };
  expect(metricOf(undefined, one)).toMatchObject({ ...counts, memory_bytes: 1000, processes: 2 });
  expect(metricOf(reading(0, {}, "d0"), reading(60, { cpuSeconds: 9 }))).toMatchObject(counts);
});

test("later ones count from the one before", () => {
  const before = reading(0, { cpuSeconds: 10, networkBytes: { in: 5, out: 6 }, diskBytes: { in: 1, out: 1 } });
  const now = reading(60, { cpuSeconds: 100, networkBytes: { in: 105, out: 6 }, diskBytes: { in: 1, out: 11 } });
  expect(metricOf(before, now)).toMatchObject({
    cpu_percent: 150,
    network_received_bytes: 100,
    network_sent_bytes: 0,
    disk_read_bytes: 0,
    disk_written_bytes: 10,
  });
});

test("what began anew with a restart is no use of less than nothing", () => {
  expect(metricOf(reading(0, { cpuSeconds: 10 }), reading(60, { cpuSeconds: 1 })).cpu_percent).toBeNull();
});
