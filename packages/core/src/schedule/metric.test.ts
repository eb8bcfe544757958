import fc from "fast-check";
import { expect, test } from "vitest";
import { metricOf, type UsageReading } from "./metric.ts";

const reading = (seconds: number, usage: Partial<UsageReading["usage"]> = {}, deploymentUuid = "d1"): UsageReading => ({
  at: new Date(seconds * 1000),
  deploymentUuid,
  usage: { processes: 2, memoryBytes: 1000.4, cpuSeconds: 0, ...usage },
});

const answered = (seconds: number, count: number, run = "first") => ({ at: new Date(seconds * 1000), run, count });

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

test.each<[string, UsageReading["answered"], UsageReading["answered"], number | null]>([
  ["requests since the sample before", answered(0, 100), answered(60, 700), 10],
  ["none", answered(0, 100), answered(60, 100), 0],
  ["fractions of them", answered(0, 0), answered(60, 1), 0.02],
  ["nothing known of the first", undefined, answered(60, 700), null],
  ["nothing known of the second", answered(0, 100), undefined, null],
  ["a proxy that was started again", answered(0, 100), answered(60, 900, "second"), null],
  ["a counter that began again", answered(0, 700), answered(60, 100), null],
  ["two readings of one moment", answered(60, 1), answered(60, 2), null],
])("the rate of requests is right for %s", (_title, before, now, expected) => {
  const rate = (deploymentUuid: string) =>
    metricOf({ ...reading(0), answered: before }, { ...reading(90, {}, deploymentUuid), answered: now })
      .requests_per_second;
  expect(rate("d1")).toBe(expected);
  // Requests of the release before are not those of this one.
  expect(rate("d2")).toBeNull();
});

test("whatever happens to the proxy, no more requests are counted than it answered", () => {
  const step = fc.record({ requests: fc.nat(1000), event: fc.constantFrom("none", "restart", "away", "rotation") });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      let [run, count, before] = [0, 0, reading(0)];
      steps.forEach(({ requests, event }, index) => {
        if (event === "restart") run++;
        count = (event === "restart" || event === "rotation" ? 0 : count) + requests;
        const seen = event === "away" ? undefined : { at: new Date((index + 1) * 1000), run: `${run}`, count };
        const now = { ...reading(index + 1), answered: seen };
        expect(metricOf(before, now).requests_per_second ?? 0).toBeLessThanOrEqual(requests);
        before = now;
      });
    }),
  );
});
