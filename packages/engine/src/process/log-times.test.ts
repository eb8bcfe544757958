import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { logTimes } from "./log-times.ts";

const BEGIN_MS = Date.parse("2026-01-02T00:00:00Z");

let folder: string;
let path: string;
let now: number;
let bounds: { start: number; end: number };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-times-"));
  path = join(folder, "log.times");
  now = BEGIN_MS;
  bounds = { start: 0, end: 0 };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const opened = () =>
  logTimes(
    path,
    () => bounds,
    () => now,
  );
const at = (seconds: number) => new Date(BEGIN_MS + seconds * 1000);
const secondsOf = (moment: Date | undefined) => moment && (moment.getTime() - BEGIN_MS) / 1000;

/** Looks each second, after which the log has grown to these sizes. */
function written(times: ReturnType<typeof opened>, ...ends: readonly number[]): void {
  for (const end of ends) {
    now += 1000;
    bounds = { ...bounds, end };
    times.look();
  }
}

test("knows the moment of a line to within a look, also after a restart of Berth", () => {
  const times = opened();
  times.look();
  written(times, 10, 10, 30);
  for (const reader of [times.reader(), opened().reader()])
    expect([5, 10, 11, 30].map((end) => secondsOf(reader(end)))).toEqual([1, 1, 3, 3]);
});

test("begins with the first byte that may be of the moment", () => {
  const times = opened();
  times.look();
  written(times, 10, 10, 30, 40);
  const starts = [-5, 0.5, 1, 1.5, 3, 3.5, 4, 4.5].map((seconds) => times.startOf(at(seconds)));
  expect(starts).toEqual([0, 0, 0, 10, 10, 30, 30, 40]);
});

test("knows no moment of what was printed while Berth did not run, and leaves none of it out", () => {
  const before = opened();
  before.look();
  written(before, 10);
  now += 3_600_000;
  bounds = { start: 0, end: 50 };
  const after = opened();
  after.look();
  written(after, 60);
  const reader = after.reader();
  expect([10, 50, 60].map((end) => secondsOf(reader(end)))).toEqual([1, undefined, 3602]);
  expect(after.startOf(at(1800))).toBe(10);
});

test("passes over a mark that a crash has cut off", () => {
  const times = opened();
  times.look();
  written(times, 10);
  appendFileSync(path, "20 17");
  expect(secondsOf(opened().reader()(10))).toBe(1);
  expect(opened().startOf(at(5))).toBe(10);
});

test("stays small however long a program prints, and forgets what was rotated away", () => {
  const times = opened();
  times.look();
  for (let n = 1; n <= 20_000; n += 1) {
    if (n === 15_000) bounds = { start: 120_000, end: bounds.end };
    written(times, n * 10);
  }
  const marks = readFileSync(path, "utf8").trim().split("\n");
  expect(marks.length).toBeLessThanOrEqual(4097);
  expect(Number(marks[0]?.split(" ")[0])).toBeGreaterThan(120_000);
  const reader = times.reader();
  expect(secondsOf(reader(200_000))).toBe(20_000);
  // A wider mark is never too early.
  expect(secondsOf(reader(150_000)) ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(15_000);
  expect(times.startOf(at(15_000))).toBeLessThanOrEqual(150_000);
});

test("fails no release whose folder is gone", () => {
  const times = opened();
  times.look();
  rmSync(folder, { recursive: true });
  written(times, 10);
  expect(times.reader()(10)).toBeInstanceOf(Date);
});
