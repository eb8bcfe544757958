import { DomainError } from "@berth/core";
import { expect, test } from "vitest";
import { logger } from "./logger.ts";

function written(level: Parameters<typeof logger>[0] = "warn") {
  const lines: string[] = [];
  let nowMs = 0;
  const log = logger(level, { write: (text: string) => lines.push(text) }, () => nowMs);
  const pass = (seconds: number) => {
    nowMs += seconds * 1000;
  };
  return { log, lines, pass };
}

test("a line has its time, level, message and details, and stands from its level on", () => {
  const { log, lines } = written();
  log.info("not shown");
  log.warn("It is late.", { by: 3 });
  expect(lines).toEqual(['1970-01-01T00:00:00.000Z warn It is late. {"by":3}\n']);
});

test("an error with a code is written with its code and cause, without its stack", () => {
  const { log, lines } = written();
  const cause = new Error("ENOSPC");
  log.error("No.", { error: new DomainError("storage.full", "The disk is full.", { cause }) });
  expect(lines[0]).toContain('{"error":{"code":"storage.full","message":"The disk is full.","cause":"ENOSPC"}}');
});

test("thousands of lines at once are a burst, then some each second, and the number of the others", () => {
  const { log, lines, pass } = written();
  for (let n = 0; n < 10_000; n++) log.error(`failure ${n}`);
  expect(lines).toHaveLength(500);
  pass(10);
  for (let n = 0; n < 100; n++) log.error("again");
  expect(lines).toHaveLength(500 + 1 + 50);
  expect(lines[500]).toContain("warn 9500 lines left out.");
});

test("a long line is cut, and debug writes everything", () => {
  const short = written();
  short.log.error("x".repeat(1_000_000));
  expect(short.lines[0]?.length).toBeLessThan(20_000);
  const all = written("debug");
  for (let n = 0; n < 2000; n++) all.log.debug("each");
  expect(all.lines).toHaveLength(2000);
});
