import { describe, expect, test } from "vitest";
import { newLines } from "./job.ts";

const LENGTH_MAX = 60;

/** An output as a job has it: only its end, once it is long. */
function tail(lines: readonly string[]): string {
  const text = lines.join("\n");
  return text.length <= LENGTH_MAX ? text : `…\n${text.slice(-LENGTH_MAX)}`;
}

describe("the lines of a job's output", () => {
  test.each([1, 2, 3])("are shown once each, %i at a time, while its end moves on", (step) => {
    const lines = Array.from({ length: 60 }, (_, number) => (number % 5 === 0 ? "again" : `line ${number}`));
    const printed: string[] = [];
    let shown = "";
    for (let count = 0; count <= lines.length; count += step) {
      const now = tail(lines.slice(0, count));
      printed.push(...newLines(shown, now), ...newLines(now, now));
      shown = now;
    }
    expect(printed).toEqual(lines);
  });

  test("are shown again from the first one when the output became shorter", () => {
    expect(newLines("one\ntwo\nthree", "one")).toEqual(["one"]);
    expect(newLines("one\ntwo", "")).toEqual([]);
  });

  test("are all shown, with a sign of those that are missing, when none of them was shown", () => {
    const now = tail(Array.from({ length: 30 }, (_, number) => `line ${number}`));
    expect(newLines("a\nb", now)).toEqual(now.split("\n"));
    expect(newLines("", now)[0]).toBe("…");
  });

  test("are shown although they equal the last one", () => {
    expect(newLines("a\nx", "a\nx\nx\nx")).toEqual(["x", "x"]);
  });
});
