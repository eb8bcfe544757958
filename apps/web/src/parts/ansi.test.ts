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

it("drops what moves the cursor, and colours that have no class", () => {
  expect(spansOf("\x1b[2K\x1b[1G50%\x1b[38;5;208m!\x1b[m")).toEqual([
    { text: "50%", className: "" },
    { text: "!", className: "" },
  ]);
  expect(plainText("\x1b[32mok\x1b[0m\r\x07")).toBe("ok");
});
