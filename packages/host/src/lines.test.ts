import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LINE_LENGTH_MAX, splitLines } from "./lines.ts";

function split(...chunks: readonly (string | Uint8Array)[]): string[] {
  const lines: string[] = [];
  const splitter = splitLines((line) => lines.push(line));
  for (const chunk of chunks) splitter.write(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  splitter.end();
  return lines;
}

describe("splitLines", () => {
  test.each([
    ["whole lines", ["a\nb\n"], ["a", "b"]],
    ["a last line without its end", ["a\nb"], ["a", "b"]],
    ["empty lines", ["\n\na\n\n"], ["", "", "a", ""]],
    ["a line over several chunks", ["a", "b", "c\nd"], ["abc", "d"]],
    ["Windows line ends, also torn ones", ["a\r", "\nb\r\n"], ["a", "b"]],
    ["the last state of a progress bar", ["10%\r20%", "\r100%\r\n", "done\n"], ["100%", "done"]],
    ["a progress bar that never ends its line", ["10%\r20%\r"], ["20%"]],
    ["nothing", [], []],
  ])("hands on %s", (_, chunks, lines) => {
    expect(split(...chunks)).toEqual(lines);
  });

  test("keeps characters whole that arrive in pieces, whatever the pieces", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" })), fc.integer({ min: 1, max: 5 }), (texts, size) => {
        const lines = texts.map((text) => text.replace(/[\r\n]/g, "").toWellFormed());
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
        expect(split(...chunks)).toEqual(lines);
      }),
    );
  });

  test("replaces bytes that are no UTF-8 and continues", () => {
    expect(split(Buffer.from([0x61, 0xff, 0xfe, 0x0a, 0x62, 0x0a]))).toEqual(["a\uFFFD\uFFFD", "b"]);
  });

  test("hands a huge line on in pieces and loses nothing of it", () => {
    const huge = "🐳x".repeat(LINE_LENGTH_MAX);
    const pieces = split(`${huge}\nnext\n`);
    expect(pieces.at(-1)).toBe("next");
    expect(pieces.slice(0, -1).join("")).toBe(huge);
    expect(pieces.every((piece) => piece.length <= LINE_LENGTH_MAX && piece.isWellFormed())).toBe(true);
  });
});
