import { expect, test } from "vitest";
import { hostileValues } from "./hostile-values.ts";

test("the corpus is large, has every kind, and says nothing twice", () => {
  const values = hostileValues("/tmp/marker");
  expect(new Set(values.map(({ value }) => value)).size).toBe(values.length);
  expect(values.length).toBeGreaterThanOrEqual(60);
  for (const kind of new Set(values.map((each) => each.kind))) {
    expect(values.filter((each) => each.kind === kind).length).toBeGreaterThan(5);
  }
  expect(values.some(({ value }) => value.includes("MARKER"))).toBe(false);
});
