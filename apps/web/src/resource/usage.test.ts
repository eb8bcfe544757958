import { expect, it } from "vitest";
import { usageOf, usageText } from "./usage.ts";

const sample = (uuid: string, cpu_percent: number | null, memory_bytes: number) => ({
  uuid,
  at: "2026-01-01T00:00:00Z",
  cpu_percent,
  memory_bytes,
});

const running = (uuid: string) => ({ uuid, status: "running:healthy" });

it("adds up what was measured", () => {
  const usage = usageOf([sample("a", 1.25, 2e6), sample("b", 20, 40e6), sample("c", null, 1e6)]);
  const text = (...uuids: string[]) => usageText(usage, uuids.map(running));
  expect(text("a", "b", "unknown")).toBe("21 %, 42 MB");
  expect(text("a")).toBe("1.3 %, 2.0 MB");
  expect(text("c")).toBe("1.0 MB");
  expect(text("unknown")).toBeUndefined();
});

it("shows nothing of what was stopped, though its last sample is new", () => {
  const usage = usageOf([sample("a", 1.25, 2e6), sample("b", 20, 40e6)]);
  const stopped = { uuid: "b", status: "exited:unhealthy" };
  expect(usageText(usage, [stopped])).toBeUndefined();
  expect(usageText(usage, [running("a"), stopped])).toBe("1.3 %, 2.0 MB");
});
