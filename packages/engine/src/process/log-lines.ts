import { type FSWatcher, watch } from "node:fs";
import { invalid } from "@berth/core";
import type { LogLine, LogQuery } from "@berth/core/ports";
import type { LogFile } from "./log-file.ts";
import type { LogTimes } from "./log-times.ts";

export interface LogSource {
  readonly file: LogFile;
  readonly times: LogTimes;
  /** The file that changes when output is written. */
  readonly path: string;
  /** Whether nothing is writing: then an incomplete last line is final. */
  isQuiet(): boolean;
  /** Whether no further output can come. */
  isGone(): boolean;
}

const CHUNK_BYTES = 65_536;
const LINE_BYTES_MAX = 65_536; // Longer lines are split, so that memory stays bounded.
const POLL_MS = 500; // For file systems without change notifications.
const NEWLINE = 0x0a;

/** Reads a release's output line by line. A cursor is the number of the byte after its line. */
export async function* readLogLines(source: LogSource, query: LogQuery): AsyncGenerator<LogLine> {
  const { signal } = query;
  // The end is read only once: the last lines are counted back from it, and without `follow` reading stops there,
  // however fast the log grows. It comes before the look, which then finds all that is read.
  const { end: endAtStart } = source.file.bounds();
  source.times.look();
  const changes = query.follow === true ? watchFile(source.path) : undefined;
  let position = await startOf(source, query, endAtStart);
  const end = changes === undefined ? endAtStart : Number.POSITIVE_INFINITY;
  const cutter = lineCutter(position, await isInLine(source.file, position));
  const withMoment = dating(source.times);
  try {
    while (signal?.aborted !== true) {
      // Checked before reading, so that output written in between does not make an incomplete line look final.
      const isQuiet = source.isQuiet();
      const { from, bytes } = await source.file.read(position, Math.min(CHUNK_BYTES, end - position));
      yield* withMoment(cutter.lines(from, bytes));
      position = from + bytes.length;
      if (bytes.length > 0) continue;
      if (isQuiet) yield* withMoment(cutter.rest());
      if (changes === undefined || source.isGone()) return;
      await changes.next(signal);
    }
  } finally {
    changes?.close();
  }
}

function dating(times: LogTimes) {
  const momentOf = times.reader();
  return function* (lines: Iterable<LogLine>): Generator<LogLine> {
    for (const line of lines) {
      const moment = momentOf(Number(line.cursor))?.toISOString();
      yield moment === undefined ? line : { ...line, moment };
    }
  };
}

/** Whether the position is inside a line whose beginning was already returned. */
async function isInLine(file: LogFile, position: number): Promise<boolean> {
  if (position === 0) return false;
  const { from, bytes } = await file.read(position - 1, 1);
  return from !== position - 1 || bytes[0] !== NEWLINE;
}

/**
 * Splits bytes into lines; an incomplete line is buffered.
 * @param isInLine The previous line was returned without its end: the end that follows makes no empty line.
 */
function lineCutter(start: number, isInLine: boolean) {
  let open: Buffer = Buffer.alloc(0);
  let position = start;
  let isTorn = isInLine;

  function take(length: number, end: number): LogLine[] {
    const bytes = open.subarray(0, length);
    open = open.subarray(end);
    position += end;
    const isEndOnly = isTorn && length === 0;
    isTorn = length === end;
    return isEndOnly ? [] : [{ cursor: String(position), line: textOf(bytes) }];
  }

  return {
    *lines(from: number, bytes: Buffer): Generator<LogLine> {
      if (from !== position + open.length) {
        // The lines in between were rotated away before they were read.
        isTorn = true;
        position = from;
        open = Buffer.alloc(0);
      }
      open = open.length === 0 ? bytes : Buffer.concat([open, bytes]);
      while (open.length > 0) {
        const newline = open.indexOf(NEWLINE);
        if (newline !== -1 && newline <= LINE_BYTES_MAX) yield* take(newline, newline + 1);
        else if (open.length > LINE_BYTES_MAX) {
          const length = wholeCharacters(open, LINE_BYTES_MAX);
          yield* take(length, length);
        } else return;
      }
    },
    *rest(): Generator<LogLine> {
      if (open.length > 0) yield* take(open.length, open.length);
    },
  };
}

/** Length without a cut-off UTF-8 character at the end. */
function wholeCharacters(bytes: Buffer, length: number): number {
  let end = length;
  while (end > length - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}

/** Text after a carriage return replaces the line, as on a terminal. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8").replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
}

async function startOf(source: LogSource, query: LogQuery, end: number): Promise<number> {
  const start = await startWithoutSince(source, query, end);
  if (query.since === undefined) return start;
  return Math.max(start, Math.min(end, await lineStart(source.file, source.times.startOf(new Date(query.since)))));
}

/** The beginning of the line that contains the byte, unless it is a very long one. */
async function lineStart(file: LogFile, position: number): Promise<number> {
  const lower = Math.max(file.bounds().start, position - LINE_BYTES_MAX);
  const newline = (await readAll(file, lower, position)).lastIndexOf(NEWLINE);
  if (newline !== -1) return lower + newline + 1;
  return lower === file.bounds().start ? lower : position;
}

async function startWithoutSince({ file, isQuiet }: LogSource, query: LogQuery, end: number): Promise<number> {
  if (query.after !== undefined) {
    if (!/^\d{1,15}$/.test(query.after)) throw invalid({ after: ["This is not a cursor of this log."] });
    return Math.min(Number(query.after), end);
  }
  return query.lines === undefined ? file.bounds().start : startOfLast(file, query.lines, end, isQuiet());
}

/** Position of the last `count` lines before `end`. An incomplete line counts only when it is final. */
async function startOfLast(file: LogFile, count: number, end: number, isQuiet: boolean): Promise<number> {
  const { start } = file.bounds();
  const last = await file.read(end - 1, 1);
  const hasOpenLine = end > start && last.bytes[0] !== NEWLINE;
  if (count === 0 && (isQuiet || !hasOpenLine)) return end;
  let newlines = count + (hasOpenLine && isQuiet ? 0 : 1);
  for (let upper = end; upper > start; ) {
    const lower = Math.max(start, upper - CHUNK_BYTES);
    const bytes = await readAll(file, lower, upper);
    for (let at = bytes.lastIndexOf(NEWLINE); at !== -1; at = at === 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)) {
      newlines--;
      if (newlines === 0) return lower + at + 1;
    }
    upper = lower;
  }
  return start;
}

/** Reads across rotated files. */
async function readAll(file: LogFile, lower: number, upper: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let from = lower; from < upper; ) {
    const part = await file.read(from, upper - from);
    if (part.bytes.length === 0 || part.from !== from) break;
    parts.push(part.bytes);
    from += part.bytes.length;
  }
  return Buffer.concat(parts);
}

interface Changes {
  /** Resolves at once if something changed since the last call, else at the next change or poll. */
  next(signal: AbortSignal | undefined): Promise<void>;
  close(): void;
}

function watchFile(path: string): Changes {
  let hasChanged = false;
  let wake = () => {};
  const notice = () => {
    hasChanged = true;
    wake();
  };
  const watcher = tryWatch(path, notice);
  return {
    async next(signal) {
      if (!hasChanged) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, POLL_MS);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
          signal?.addEventListener("abort", wake, { once: true });
        });
        signal?.removeEventListener("abort", wake);
      }
      hasChanged = false;
    },
    close: () => watcher?.close(),
  };
}

/** Watches are limited in number, and some file systems have none: then polling has to do. */
export function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on("error", () => {});
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
