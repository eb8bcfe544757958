import { expect, it } from "vitest";
import { merged } from "./metrics.tsx";

const sample = (at: string, memory_bytes: number) => ({ at, memory_bytes, cpu_percent: null, processes: 1 });

it("shows listed and followed samples once each, in order, and of an interval that grows the newest", () => {
  const samples = [
    sample("2026-01-01T00:02:00Z", 1),
    sample("2026-01-01T00:00:00Z", 2),
    sample("2026-01-01T00:02:00.000Z", 3),
  ];
  expect(merged(samples).map(({ memory_bytes }) => memory_bytes)).toEqual([2, 3]);
});
