import { expect, it } from "vitest";
import { usageText, withSamples } from "./usage.ts";

const sample = (uuid: string, at: string, cpu_percent: number | null, memory_bytes: number) => ({
  uuid,
  at: `2026-01-01T00:${at}Z`,
  cpu_percent,
  memory_bytes,
});

it("shows the newest samples, and none of what does not run any more", () => {
  const first = withSamples(new Map(), [sample("a", "00:00", null, 1e6), sample("b", "00:30", 2, 2e6)]);
  const second = withSamples(first, [sample("b", "02:10", 3, 4e6)]);
  expect([...first.keys(), ...second.keys()]).toEqual(["a", "b", "b"]);
  expect(second.get("b")).toMatchObject({ cpu_percent: 3, memory_bytes: 4e6 });
});

it("adds up what was measured", () => {
  const usage = withSamples(new Map(), [
    sample("a", "00:00", 1.25, 2e6),
    sample("b", "00:00", 20, 40e6),
    sample("c", "00:00", null, 1e6),
  ]);
  const text = (...uuids: string[]) =>
    usageText(
      usage,
      uuids.map((uuid) => ({ uuid })),
    );
  expect(text("a", "b", "unknown")).toBe("21 %, 42 MB");
  expect(text("a")).toBe("1.3 %, 2.0 MB");
  expect(text("c")).toBe("1.0 MB");
  expect(text("unknown")).toBeUndefined();
});
