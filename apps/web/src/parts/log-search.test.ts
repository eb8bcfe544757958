import { describe, expect, test } from "vitest";
import { spansOf } from "./ansi.ts";
import { dividedAt, LogSearch, withHits } from "./log-search.ts";

const log = (...texts: readonly string[]) => ({ all: texts.map((text) => ({ text })), dropped: 0 });

function searched(wanted: string, lines: Parameters<LogSearch["read"]>[0]) {
  const search = new LogSearch(wanted);
  search.read(lines);
  return search;
}

/** Line and place of all hits, by their numbers. */
const hitsOf = (search: LogSearch) =>
  Array.from({ length: search.total }, (_, index) => {
    const hit = search.hitAt(index + 1);
    return hit && [hit.line, hit.nth];
  });

describe("the hits of a search", () => {
  test("are counted in any case and across colours, several in a line each", () => {
    const search = searched("ab", log("ab AB", "nothing", "a\u001b[31mb\u001b[0m", "xAbx"));
    expect(hitsOf(search)).toEqual([
      [0, 0],
      [0, 1],
      [2, 0],
      [3, 0],
    ]);
    expect([search.total, search.lineCount]).toEqual([4, 3]);
    expect([0, 1, 2].map((row) => search.indexAt(row))).toEqual([0, 2, 3]);
    for (let number = 1; number <= 4; number += 1) {
      const hit = search.hitAt(number);
      expect(hit && search.numberOf(hit)).toBe(number);
    }
  });

  test("are text, not a pattern", () => {
    expect(searched("a.c*", log("abc", "A.C*")).total).toBe(1);
    expect(searched("[31m", log("\u001b[31mred", "[31m")).total).toBe(1);
    expect(searched("\\d/(x)|{1}^$+?]-", log("\\d/(x)|{1}^$+?]-", "1")).total).toBe(1);
  });

  test("follow one another round the ends", () => {
    const search = searched("x", log("x", "", "x", "x"));
    expect([0, 4, 7, -2].map((number) => search.hitAt(number)?.line)).toEqual([3, 0, 0, 0]);
    expect(searched("x", log("a")).hitAt(1)).toBeUndefined();
  });

  test("are near a line: the first one from there, else the last one before", () => {
    const search = searched("x", log("", "x x", "", "x", ""));
    expect([0, 1, 2, 3, 4].map((line) => search.nearest(line))).toEqual([
      { line: 1, nth: 0 },
      { line: 1, nth: 0 },
      { line: 3, nth: 0 },
      { line: 3, nth: 0 },
      { line: 3, nth: 0 },
    ]);
    expect(searched("y", log("x")).nearest(0)).toBeUndefined();
  });

  test("of a growing log are found in the new lines alone, and forgotten with dropped ones", () => {
    const reads: string[] = [];
    const line = (text: string) => ({
      get text() {
        reads.push(text);
        return text;
      },
    });
    const all = [line("x1"), line("2"), line("x3 x")];
    const search = searched("x", { all, dropped: 0 });
    const kept = search.hitAt(2);
    all.push(line("x4"));
    search.read({ all, dropped: 0 });
    search.read({ all, dropped: 0 });
    expect(reads).toEqual(["x1", "2", "x3 x", "x4"]);
    expect([search.total, search.lineCount]).toEqual([4, 3]);
    search.read({ all: all.slice(1), dropped: 1 });
    expect([search.total, search.lineCount, search.indexAt(0)]).toEqual([3, 2, 1]);
    expect([kept && search.numberOf(kept), search.numberOf({ line: 0, nth: 0 })]).toEqual([1, undefined]);
    expect(hitsOf(search)).toEqual([
      [2, 0],
      [2, 1],
      [3, 0],
    ]);
    search.read({ all: [], dropped: 4 });
    expect([search.total, search.lineCount, search.hitAt(1)]).toEqual([0, 0, undefined]);
    search.read({ all: [{ text: "x" }], dropped: 4 });
    expect([search.total, search.hitAt(1)]).toEqual([1, { line: 4, nth: 0 }]);
  });
});

test("a line is divided where hits begin and end, also across colours", () => {
  const { pattern } = new LogSearch("bc");
  const divided = (text: string) => withHits(spansOf(text), pattern).map(({ text, hit }) => [text, hit]);
  expect(divided("abcd bc")).toEqual([
    ["a", undefined],
    ["bc", 0],
    ["d ", undefined],
    ["bc", 1],
  ]);
  expect(withHits(spansOf("a\u001b[31mb\u001b[32mC\u001b[0md"), pattern)).toEqual([
    { text: "a", className: "" },
    { text: "b", className: "sgr31", hit: 0 },
    { text: "C", className: "sgr32", hit: 0 },
    { text: "d", className: "" },
  ]);
  expect(divided("nothing")).toEqual([["nothing", undefined]]);
});

test("a long line with many colours is divided in as many steps as it has parts", () => {
  const readsOf = (count: number) => {
    let reads = 0;
    const spans = Array.from({ length: count }, () => ({ text: "abcdef", className: "" }));
    const hits = Array.from({ length: count / 2 }, (_, index) => ({
      get from() {
        reads += 1;
        return index * 12 + 4;
      },
      to: index * 12 + 8,
    }));
    // Each hit reaches over two spans.
    expect(dividedAt(spans, hits)).toHaveLength(2 * count);
    return reads;
  };
  expect(readsOf(2000)).toBeLessThanOrEqual(2 * readsOf(1000) + 10);
});
