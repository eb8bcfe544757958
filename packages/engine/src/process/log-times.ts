import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";

/**
 * When the bytes of a log were written. A program writes into its log itself, so nothing stamps its lines: instead
 * Berth reads the size of the log at intervals, and records a mark when it has grown. A line gets the moment of the first
 * mark behind it, which is late by one interval at most.
 */
export interface LogTimes {
  /** Finds what was written since the last look. Cheap where that is nothing. */
  look(): void;
  /** Number of the first byte that may have been written at this moment or later. */
  startOf(moment: Date): number;
  /** For each number of a byte behind a line, when that line was found. */
  reader(): (end: number) => Date | undefined;
}

interface Mark {
  /** Bytes before this number were there. */
  readonly end: number;
  /** The look before, which did not find them. */
  readonly sinceMs: number;
  readonly atMs: number;
}

/** Marks of a log that is written to all the time: an hour of looks, then ever wider ones. */
const MARKS_MAX = 4096;
/** Marks that are further apart, as over a time in which Berth did not run, tell no moment. */
const KNOWN_WITHIN_MS = 60_000;

/**
 * @param path File of the marks, which only Berth writes.
 * @param bounds Of the log: its oldest stored byte and its end.
 */
export function logTimes(
  path: string,
  bounds: () => { readonly start: number; readonly end: number },
  nowMs: () => number = Date.now,
): LogTimes {
  /** `undefined` before the first look of this process. */
  let last: { end: number; lookedAtMs: number; count: number } | undefined;

  const opened = () => {
    if (last !== undefined) return last;
    const marks = readMarks(path);
    const newest = marks.at(-1);
    last = { end: newest?.end ?? 0, lookedAtMs: newest?.atMs ?? 0, count: marks.length };
    return last;
  };

  const look = () => {
    const known = opened();
    const { start, end } = bounds();
    const atMs = nowMs();
    if (end > known.end) {
      try {
        if (known.count >= MARKS_MAX) known.count = thin(path, start);
        appendFileSync(path, textOf({ end, sinceMs: known.lookedAtMs, atMs }), { mode: 0o600 });
      } catch (cause) {
        // The next look tries again, with a wider mark.
        if (isPassing(cause)) return;
        throw cause;
      }
      known.end = end;
      known.count += 1;
    }
    known.lookedAtMs = atMs;
  };

  return {
    look,
    startOf(moment) {
      const marks = readMarks(path);
      const first = marks.findIndex(({ atMs }) => atMs >= moment.getTime());
      return (first === -1 ? marks.at(-1) : marks[first - 1])?.end ?? 0;
    },
    reader() {
      const marks = readMarks(path);
      let at = 0;
      return (end) => {
        if (end > (marks.at(-1)?.end ?? 0)) {
          // Written since the reading began, so it is followed: the next look finds it.
          return new Date(nowMs());
        }
        while (at < marks.length && (marks[at]?.end ?? 0) < end) at += 1;
        const mark = marks[at];
        return mark === undefined || mark.atMs - mark.sinceMs > KNOWN_WITHIN_MS ? undefined : new Date(mark.atMs);
      };
    },
  };
}

/** @returns How many marks are left. */
function thin(path: string, start: number): number {
  const kept = thinned(readMarks(path), start);
  writeFileSync(`${path}.new`, kept.map(textOf).join(""), { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return kept.length;
}

/** Drops marks of bytes that are gone, and every other one of the older half. */
function thinned(marks: readonly Mark[], start: number): readonly Mark[] {
  const stored = marks.filter(({ end }) => end > start);
  const half = 2 * Math.floor(stored.length / 4);
  const older = stored.slice(0, half);
  const merged = older.flatMap((mark, at) =>
    at % 2 === 0 ? [] : [{ ...mark, sinceMs: older[at - 1]?.sinceMs ?? mark.sinceMs }],
  );
  return [...merged, ...stored.slice(half)];
}

const textOf = ({ end, sinceMs, atMs }: Mark): string => `${end} ${sinceMs} ${atMs}\n`;

/** Passes over a last line that a crash or a full disk has cut off. */
function readMarks(path: string): readonly Mark[] {
  const marks: Mark[] = [];
  for (const [, end, sinceMs, atMs] of textIn(path).matchAll(/^(\d{1,15}) (\d{1,15}) (\d{1,15})\n/gm)) {
    marks.push({ end: Number(end), sinceMs: Number(sinceMs), atMs: Number(atMs) });
  }
  return marks;
}

/** The disk is full, or the release is being removed. */
const isPassing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && ["ENOSPC", "EDQUOT", "ENOENT"].includes(String(cause.code));

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return "";
    throw cause;
  }
}
