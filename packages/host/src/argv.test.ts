import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toShell } from "./argv.ts";

const HOSTILE = [
  "'",
  '"',
  "\\",
  "$",
  "`",
  " ",
  "\n",
  "\t",
  "!",
  "*",
  ";",
  "&",
  "|",
  "<",
  ">",
  "(",
  "~",
  "#",
  "é",
  "🐳",
];
const word = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE, "$(id)", "$HOME", "-", "a"), fc.string({ unit: "grapheme" })))
  .map((parts) => parts.join("").replaceAll("\0", "").toWellFormed());

describe("toShell", () => {
  test("gives a shell exactly the words it was given", () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 30 }), (words) => {
        const printed = execFileSync("sh", ["-c", toShell(["printf", "%s\\0", ...words])]).toString();
        expect(printed.split("\0").slice(0, -1)).toEqual(words);
      }),
      { numRuns: 60 },
    );
  });

  test("refuses what no argument can hold", () => {
    expect(() => toShell(["echo", "a\0b"])).toThrow(RangeError);
  });
});
