import { expect, it } from "vitest";
import { plainText, spansOf } from "./ansi.ts";

it("gives each part of a line the codes in effect, until they are taken back", () => {
  expect(spansOf("a \x1b[1;31mb\x1b[22mc\x1b[0md")).toEqual([
    { text: "a ", className: "" },
    { text: "b", className: "sgr1 sgr31" },
    { text: "c", className: "sgr31" },
    { text: "d", className: "" },
  ]);
});

it.each([
  ["38;5;208", "sgr33"],
  ["38;5;1", "sgr31"],
  ["38;5;12", "sgr94"],
  ["38;5;46", "sgr32"],
  ["38;5;244", ""],
  ["38;5;16", ""],
  ["38;2;255;105;180", "sgr35"],
  ["38;2;0;128;255;1", "sgr34 sgr1"],
  ["38;2;250;250;250", ""],
  ["38;9", ""],
  ["48;2;200;0;0", "sgr41"],
  ["42;37", "sgr42 sgr37"],
  ["41;49", ""],
  ["31;38;5;250", ""],
])("shows %s as the nearest colour that is readable in light and dark", (codes, className) => {
  expect(spansOf(`\x1b[${codes}mx`)).toEqual([{ text: "x", className }]);
});

it("drops what moves the cursor", () => {
  expect(spansOf("\x1b[2K\x1b[1G50%\x1b[1m!\x1b[m")).toEqual([
    { text: "50%", className: "" },
    { text: "!", className: "sgr1" },
  ]);
  expect(plainText("\x1b[32mok\x1b[0m\r\x07")).toBe("ok");
});
