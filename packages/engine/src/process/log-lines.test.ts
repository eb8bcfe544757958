import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogLine, LogQuery } from "@berth/core/ports";
import { eventually } from "@berth/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type LogFile, logFile } from "./log-file.ts";
import { readLogLines } from "./log-lines.ts";
import { type LogTimes, logTimes } from "./log-times.ts";

let folder: string;
let path: string;
let file: LogFile;
let times: LogTimes;
let nowMs: number;
let isQuiet: boolean;
let isGone: boolean;

const MAX_BYTES = 100;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-log-"));
  path = join(folder, "log");
  writeFileSync(path, "");
  file = logFile(path, { maxBytes: MAX_BYTES, rotatedFiles: 2 });
  nowMs = Date.parse("2026-01-02T00:00:00Z");
  times = logTimes(
    join(folder, "log.times"),
    () => file.bounds(),
    () => nowMs,
  );
  isQuiet = false;
  isGone = false;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const source = () => ({ file, times, path, isQuiet: () => isQuiet, isGone: () => isGone });
const write = (text: string | Uint8Array) => appendFileSync(path, text);
const rotate = () => file.rotateIfFull(() => []);

async function read(query: LogQuery = {}): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const line of readLogLines(source(), query)) lines.push(line);
  return lines;
}

const texts = async (query?: LogQuery) => (await read(query)).map(({ line }) => line);
const cursors = async (query?: LogQuery) => (await read(query)).map(({ cursor }) => cursor);

describe("log", () => {
  test("has the number of the byte behind a line as its cursor", async () => {
    write("a\nbcd\n\né\n");
    expect(await cursors()).toEqual(["2", "6", "7", "10"]);
  });

  test("answers whole lines since a moment, with theirs, across a rotation", async () => {
    const written = (text: string) => {
      nowMs += 1000;
      write(text);
      times.look();
    };
    times.look();
    written("old\nbegun");
    written(` and ended ${"x".repeat(MAX_BYTES)}\n`);
    await rotate();
    written("new\nnewer\n");
    const since = (moment: string) => texts({ since: `2026-01-02T00:00:${moment}Z` });
    expect(await since("03")).toEqual(["new", "newer"]);
    // The look in between found the beginning of a line.
    expect((await since("02")).map((line) => line.slice(0, 5))).toEqual(["begun", "new", "newer"]);
    expect(await texts({ since: "2026-01-02T00:00:02Z", lines: 1 })).toEqual(["newer"]);
    expect(await since("09")).toEqual([]);
    expect((await read({ lines: 2 })).map(({ moment }) => moment)).toEqual(
      Array.from({ length: 2 }, () => "2026-01-02T00:00:03.000Z"),
    );
  });

  test("answers nothing since a later moment, also when a line is written at the same time", async () => {
    write("before\n");
    const { look } = times;
    for (const at of ["before", "after"]) {
      times = {
        ...times,
        look() {
          if (at === "before") write("meanwhile\n");
          look();
          if (at === "after") write("meanwhile\n");
        },
      };
      expect([at, await texts({ since: "2999-01-02T00:00:00Z" })]).toEqual([at, []]);
    }
  });

  test("keeps an open line back while it may still grow", async () => {
    write("whole\nop");
    expect(await texts()).toEqual(["whole"]);
    expect(await texts({ lines: 1 })).toEqual(["whole"]);
    write("en\n");
    expect(await texts()).toEqual(["whole", "open"]);
  });

  test("reads no more than the last lines, however fast the log grows while they are looked for", async () => {
    write("a\nb\nc\n");
    const growing: LogFile = {
      ...file,
      read: async (position, length) => {
        const part = await file.read(position, length);
        write("later\n");
        return part;
      },
    };
    const lines: string[] = [];
    for await (const { line } of readLogLines({ ...source(), file: growing }, { lines: 2 })) lines.push(line);
    expect(lines).toEqual(["b", "c"]);
  });

  test("hands on an open line when nothing is being written, and its end makes no other line", async () => {
    write("whole\nopen");
    isQuiet = true;
    const lines = await read();
    expect(lines.map(({ line }) => line)).toEqual(["whole", "open"]);
    expect(await texts({ lines: 1 })).toEqual(["open"]);
    await file.endLine();
    await file.endLine();
    write("next\n");
    expect(await texts({ after: lines.at(-1)?.cursor ?? "" })).toEqual(["next"]);
    expect(await texts()).toEqual(["whole", "open", "next"]);
  });

  test("does not swallow an empty line behind a cursor", async () => {
    write("a\n\nb\n");
    expect(await texts({ after: "2" })).toEqual(["", "b"]);
    expect(await texts({ lines: 2 })).toEqual(["", "b"]);
  });

  test.each([0, 1, 2, 3, 99])("answers the last %i lines", async (lines) => {
    const all = ["a", "", "c"];
    write(all.map((line) => `${line}\n`).join(""));
    expect(await texts({ lines })).toEqual(lines === 0 ? [] : all.slice(-lines));
    write("open");
    expect(await texts({ lines })).toEqual(lines === 0 ? [] : all.slice(-lines));
    isQuiet = true;
    expect(await texts({ lines })).toEqual(lines === 0 ? [] : [...all, "open"].slice(-lines));
  });

  test("finds the last lines over several files and chunks", async () => {
    const all = Array.from({ length: 30_000 }, (_, at) => `line ${at}`);
    file = logFile(path, { maxBytes: 150_000, rotatedFiles: 2 });
    for (let at = 0; at < all.length; at += 1000) {
      write(`${all.slice(at, at + 1000).join("\n")}\n`);
      await rotate();
    }
    expect(await texts({ lines: 20_000 })).toEqual(all.slice(-20_000));
  });

  test("shows the last state of a progress bar and what is no UTF-8 as such", async () => {
    write("10%\r100%\r\n");
    write(Buffer.from([0x61, 0xff, 0x0a]));
    expect(await texts()).toEqual(["100%", "a\uFFFD"]);
  });

  test("hands a huge line on in pieces of whole characters, each with a cursor to resume from", async () => {
    const huge = "🐳é".repeat(40_000);
    write(`before\n${huge}\nafter\n`);
    const lines = await read();
    expect(lines.map(({ line }) => line).join("")).toBe(`before${huge}after`);
    expect(lines.every(({ line }) => line.isWellFormed() && Buffer.byteLength(line) <= 65_536)).toBe(true);
    for (const [at, { cursor }] of lines.entries()) expect(await read({ after: cursor })).toEqual(lines.slice(at + 1));
  });

  test("makes no empty line of the end of a line that fills its pieces", async () => {
    const piece = "x".repeat(65_536);
    write(`${piece}\n${piece}${piece}\nend\n`);
    expect(await texts()).toEqual([piece, piece, piece, "end"]);
  });

  test("loses and repeats nothing, wherever it is written, rotated and read", async () => {
    const step = fc.oneof(
      fc.string({ maxLength: 60 }).map((text) => ({ write: text.replace(/\r/g, "").toWellFormed() })),
      fc.constant({ write: "\n" }),
      fc.constant("rotate" as const),
      fc.constant("reopen" as const),
      fc.constant("read" as const),
    );
    const runs = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      writeFileSync(path, "");
      const limits = { maxBytes: 40, rotatedFiles: 100 };
      file = logFile(path, limits);
      let written = "";
      const seen: LogLine[] = [];
      const readOn = async () => {
        const after = seen.at(-1)?.cursor;
        seen.push(...(await read(after === undefined ? {} : { after })));
      };
      for (const action of steps) {
        if (action === "rotate") await rotate();
        else if (action === "read") await readOn();
        else if (action === "reopen") {
          file = logFile(path, limits);
          await file.recover([]);
        } else {
          written += action.write;
          write(action.write);
        }
      }
      await readOn();
      expect(seen.map(({ line }) => line)).toEqual(written.split("\n").slice(0, -1));
    });
    await fc.assert(runs, { numRuns: 100 });
  });

  test("keeps as many rotated files as asked, and begins with the oldest line that is left", async () => {
    for (let at = 0; at < 100; at++) {
      write(`line ${at}, so long that it fills\n`);
      await rotate();
    }
    const bytes = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(bytes).toBeLessThan(4 * MAX_BYTES + 100);
    const left = await texts();
    expect(left.at(-1)).toBe("line 99, so long that it fills");
    expect(left.length).toBeGreaterThan(4);
    expect(await texts({ after: "0" })).toEqual(left);
  });

  test("finishes a rotation in whose middle the control plane died", async () => {
    write(`${"x".repeat(MAX_BYTES)}\n`);
    await rotate();
    write("next\n");
    // The state after the copy was recorded but before the original was truncated.
    write("y".repeat(MAX_BYTES));
    const bounds = file.bounds();
    const copied = readdirSync(folder);
    writeFileSync(`${path}.${MAX_BYTES + 1}`, `next\n${"y".repeat(MAX_BYTES)}`);
    writeFileSync(`${path}.json`, JSON.stringify({ base: bounds.end, isCut: false }));
    file = logFile(path, { maxBytes: MAX_BYTES, rotatedFiles: 2 });
    await file.recover([]);
    expect(file.bounds()).toEqual(bounds);
    expect(statSync(path).size).toBe(0);
    expect(copied.every((name) => existsSync(join(folder, name)))).toBe(true);
    isQuiet = true;
    expect(await texts()).toEqual(["x".repeat(MAX_BYTES), "next", "y".repeat(MAX_BYTES)]);
  });

  test("refuses a cursor that is none, and goes to the end for one that lies behind it", async () => {
    write("a\n");
    await expect(read({ after: "../x" })).rejects.toMatchObject({ code: "request.invalid" });
    expect(await texts({ after: "999" })).toEqual([]);
  });

  test("follows what is written until it is told to stop", async () => {
    const seen: string[] = [];
    const stop = new AbortController();
    const following = (async () => {
      for await (const { line } of readLogLines(source(), { lines: 1, follow: true, signal: stop.signal }))
        seen.push(line);
    })();
    write("one\ntw");
    await eventually(() => expect(seen).toEqual(["one"]));
    write("o\n");
    await eventually(() => expect(seen).toEqual(["one", "two"]));
    stop.abort();
    await following;
  });

  test("follows over rotations, however fast they come", async () => {
    const all = Array.from({ length: 300 }, (_, at) => `line ${at} ${"x".repeat(at % 50)}`);
    file = logFile(path, { maxBytes: 200, rotatedFiles: 1000 });
    const seen: string[] = [];
    const following = (async () => {
      for await (const { line } of readLogLines(source(), { follow: true })) seen.push(line);
    })();
    for (const line of all) {
      write(`${line}\n`);
      await rotate();
    }
    await eventually(() => expect(seen).toHaveLength(all.length));
    isGone = true;
    await following;
    expect(seen).toEqual(all);
  });
});
