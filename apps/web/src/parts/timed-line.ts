import type { LogEntry } from "./lines.ts";

const TIMED = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (.*)$/s;

/** Lines of a log of which each begins with its time, if that is known. */
export function timedLines(log: string): readonly LogEntry[] {
  if (log === "") return [];
  return log.split("\n").map((line) => {
    const [, at, text] = TIMED.exec(line) ?? [];
    return at === undefined || text === undefined ? { text: line } : { at, text };
  });
}
