import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ENV_BYTES_MAX, ENV_ENTRY_BYTES_MAX, entryProblems, requireStartable } from "./env-size.ts";

describe("a variable", () => {
  test.each([
    ["A", "x".repeat(ENV_ENTRY_BYTES_MAX - 2), true],
    ["A", "x".repeat(ENV_ENTRY_BYTES_MAX - 1), false],
    ["LONGER_NAME", "x".repeat(ENV_ENTRY_BYTES_MAX - 2), false],
    ["A", "ü".repeat((ENV_ENTRY_BYTES_MAX - 3) / 2), true],
    ["A", "ü".repeat((ENV_ENTRY_BYTES_MAX + 1) / 2), false],
    ["A", "😀".repeat(40_000), false],
    ["A", null, true],
    ["A", undefined, true],
  ])("%s with its value fits into what a program is started with, or is refused", (key, value, isFitting) => {
    expect(Object.keys(entryProblems({ key, value }, "data.3."))).toEqual(isFitting ? [] : ["data.3.value"]);
    const start = () => requireStartable({ OTHER: "1", [key]: value ?? "" });
    if (isFitting) expect(start).not.toThrow();
    else expect(start).toThrow(`The variable ${key} is too long`);
  });

  test("is measured in bytes, whatever is in it", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 1, maxLength: 3 }),
        fc.integer({ min: -3, max: 3 }),
        (text, by) => {
          const bytes = new TextEncoder().encode(text).length;
          const value = text.repeat(Math.floor((ENV_ENTRY_BYTES_MAX - 2) / bytes) + by);
          const isFitting = new TextEncoder().encode(`A=${value}`).length <= ENV_ENTRY_BYTES_MAX;
          expect(Object.keys(entryProblems({ key: "A", value })).length === 0).toBe(isFitting);
        },
      ),
      { numRuns: 50 },
    );
  });
});

test("variables that fit by themselves are refused when they do not fit together", () => {
  const each = ENV_BYTES_MAX / 32 - "A00=".length;
  const variables = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`A${String(n).padStart(2, "0")}`, "x".repeat(each)]));
  expect(() => requireStartable(variables(32))).not.toThrow();
  expect(() => requireStartable({ ...variables(32), B: "" })).toThrow("The variables are too long");
});
