import { expect, it } from "vitest";
import { usageOf, usageText } from "./usage.ts";

const sample = (uuid: string, cpu_percent: number | null, memory_bytes: number) => ({
  uuid,
  at: "2026-01-01T00:00:00Z",
  cpu_percent,
  memory_bytes,
});

it("adds up what was measured", () => {
  const usage = usageOf([sample("a", 1.25, 2e6), sample("b", 20, 40e6), sample("c", null, 1e6)]);
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
