import { plainText, type Span } from "./ansi.ts";
import type { LogEntry } from "./lines.ts";

/** Where a hit is. */
export interface Hit {
  /** The number of its line, counted from the log's beginning, also of lines that are dropped by now. */
  readonly line: number;
  /** Which hit of its line, from 0. */
  readonly nth: number;
}

/** A growing list of lines, whose oldest are dropped. */
interface SearchedLines {
  readonly all: readonly LogEntry[];
  /** Number of lines that were dropped. */
  readonly dropped: number;
}

/** The hits of a search in a log. Each line is read once, however often the log grows. */
export class LogSearch {
  readonly pattern: RegExp;
  /** Matching lines, and the number of hits before each of them, dropped ones too. */
  #lines: number[] = [];
  #before: number[] = [];
  #found = 0;
  #read = 0;
  #dropped = 0;

  /** @param wanted Not empty. It is found in any case. */
  constructor(wanted: string) {
    this.pattern = new RegExp(wanted.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  }

  /** Reads the lines that were added since, and forgets those that were dropped. */
  read({ all, dropped }: SearchedLines): void {
    this.#dropped = dropped;
    const gone = this.#lines.findIndex((line) => line >= dropped);
    if (gone !== 0) {
      const count = gone === -1 ? this.#lines.length : gone;
      this.#lines = this.#lines.slice(count);
      this.#before = this.#before.slice(count);
    }
    for (let number = Math.max(this.#read, dropped); number < dropped + all.length; number += 1) {
      const count = plainText(all[number - dropped]?.text ?? "").match(this.pattern)?.length ?? 0;
      if (count === 0) continue;
      this.#lines.push(number);
      this.#before.push(this.#found);
      this.#found += count;
    }
    this.#read = dropped + all.length;
  }

  /** Number of hits. */
  get total(): number {
    return this.#found - this.#gone;
  }

  /** Number of lines with a hit. */
  get lineCount(): number {
    return this.#lines.length;
  }

  /** Index of the nth line with a hit, among all lines. */
  indexAt(row: number): number {
    return (this.#lines[row] ?? this.#dropped) - this.#dropped;
  }

  /** Which of the lines with a hit this is. */
  rowOf({ line }: Hit): number {
    return lastAtMost(this.#lines, line);
  }

  /** Which of all hits this is, from 1; `undefined` for one that was dropped. */
  numberOf({ line, nth }: Hit): number | undefined {
    const row = lastAtMost(this.#lines, line);
    return this.#lines[row] === line ? (this.#before[row] ?? 0) - this.#gone + nth + 1 : undefined;
  }

  /** The hit with this number. After the last one follows the first one, and the other way round. */
  hitAt(number: number): Hit | undefined {
    const { total } = this;
    if (total === 0) return undefined;
    const counted = ((((number - 1) % total) + total) % total) + this.#gone;
    const row = lastAtMost(this.#before, counted);
    const [line, before] = [this.#lines[row], this.#before[row]];
    return line === undefined || before === undefined ? undefined : { line, nth: counted - before };
  }

  /** The first hit at or after a line, else the last one before it. */
  nearest(line: number): Hit | undefined {
    const row = Math.min(lastAtMost(this.#lines, line - 1) + 1, this.#lines.length - 1);
    const found = this.#lines[row];
    return found === undefined ? undefined : { line: found, nth: 0 };
  }

  get #gone(): number {
    return this.#before[0] ?? this.#found;
  }
}

/** The place of the last value up to this one in a sorted list; -1 if all are greater. */
function lastAtMost(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

const hitsIn = (text: string, pattern: RegExp): readonly Range[] =>
  Array.from(text.matchAll(pattern), ({ index, 0: hit }) => ({ from: index, to: index + hit.length }));

/** A part of a line with one look. */
export interface SearchedSpan extends Span {
  /** Which hit of the line it belongs to, from 0. */
  readonly hit?: number;
}

/** The parts of a line, divided where hits begin and end: a hit may reach over several colours. */
export const withHits = (spans: readonly Span[], pattern: RegExp): readonly SearchedSpan[] =>
  dividedAt(spans, hitsIn(spans.map(({ text }) => text).join(""), pattern));

/** @param hits In their order, without overlaps. */
export function dividedAt(spans: readonly Span[], hits: readonly Range[]): readonly SearchedSpan[] {
  if (hits.length === 0) return spans;
  const divided: SearchedSpan[] = [];
  let begin = 0;
  // The first hit that has not ended before the span: each hit is read once for each span that it reaches.
  let nth = 0;
  for (const { text, className } of spans) {
    const end = begin + text.length;
    let at = begin;
    const push = (to: number, hit?: number) => {
      if (to > at)
        divided.push({ text: text.slice(at - begin, to - begin), className, ...(hit !== undefined && { hit }) });
      at = Math.max(at, to);
    };
    for (let next = hits[nth]; next !== undefined && next.from < end; next = hits[nth]) {
      push(next.from);
      push(Math.min(next.to, end), nth);
      if (next.to > end) break;
      nth += 1;
    }
    push(end);
    begin = end;
  }
  return divided;
}
