import { expect, it } from "vitest";
import { timedLines } from "./timed-line.ts";

it("takes the times from the beginnings of lines, where they are known", () => {
  const log = "2026-11-29T08:10:24.955000001Z GET / 200\nprinted while Berth did not run\n2026-11-29T08:10:25Z ";
  expect(timedLines(log)).toEqual([
    { at: "2026-11-29T08:10:24.955000001Z", text: "GET / 200" },
    { text: "printed while Berth did not run" },
    { at: "2026-11-29T08:10:25Z", text: "" },
  ]);
});

it("has no line for an empty log", () => {
  expect(timedLines("")).toEqual([]);
});
