import { expect, test } from "vitest";
import { timeLabels } from "./chart-axis.ts";

const HOUR = 3600;
/** In the zone of the reader, as the axis is. */
const NOON = new Date(2026, 0, 1, 12).getTime() / 1000;
const marks = (count: number, stepSeconds: number) => Array.from({ length: count }, (_, i) => NOON + i * stepSeconds);

test("a day is divided into times", () => {
  expect(timeLabels(marks(3, 6 * HOUR))).toEqual(["12:00", "18:00", "00:00"]);
});

test("what is longer is divided into days, each named once", () => {
  const labels = timeLabels(marks(5, 12 * HOUR));
  expect(labels.filter((label) => label !== "")).toHaveLength(3);
  expect(labels.join(" ")).not.toContain(":");
  expect(labels[1]).not.toBe(labels[0]);
});

test("an axis without marks has no labels", () => {
  expect(timeLabels([])).toEqual([]);
});
