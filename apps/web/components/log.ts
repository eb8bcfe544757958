import { Lines, type LogEntry } from "../src/parts/lines.ts";

const lines = new Lines();
const BEGAN_MS = Date.UTC(2026, 0, 1, 12);

/** The log of the page, and what adds lines to it. */
export const log = {
  lines,
  /** Prints numbered lines, one each second of the log's own time. */
  print(count: number): void {
    const from = lines.all.length;
    const entries = Array.from({ length: count }, (_, index) => ({
      text: `line ${from + index + 1}`,
      at: new Date(BEGAN_MS + (from + index) * 1000).toISOString(),
    }));
    // Not all at once as arguments, of which a call can have too few.
    for (const entry of entries) lines.push(entry);
  },
  write(...entries: readonly LogEntry[]): void {
    lines.push(...entries);
  },
};
