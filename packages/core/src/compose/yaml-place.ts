import { isMap, isScalar, isSeq, type LineCounter } from "yaml";

/**
 * The place of the deepest existing part of a path, as a sentence; empty for a text of one line, which a program
 * wrote.
 * @param path Keys separated by dots, may contain dots within keys: `services.web.ports.0`.
 */
export function placeOf(contents: unknown, lines: LineCounter, path: string): string {
  if (lines.lineStarts.length < 2) return "";
  let node = contents;
  let offset: number | undefined;
  for (let rest = path.split(".").slice(0, SEGMENTS_MAX); rest.length > 0; ) {
    const found = partIn(node, rest);
    if (found === undefined) break;
    ({ node, rest } = found);
    offset = found.offset ?? offset;
  }
  if (offset === undefined) return "";
  const { line, col } = lines.linePos(offset);
  return ` See line ${line}, column ${col}.`;
}

/** The place that a problem of a file names, as `placeOf` and the parser write it. */
export function placeInProblem(problem: string): { readonly line: number; readonly column: number } | undefined {
  const [, line, column] = /\bline (\d+), column (\d+)\b/.exec(problem) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

const SEGMENTS_MAX = 40; // A document is at most 32 levels deep.

/** The node that the first segments name, and the remaining segments. */
function partIn(node: unknown, segments: readonly string[]) {
  if (isSeq(node)) {
    const item = node.items[Number(segments[0])];
    return item === undefined ? undefined : { node: item, offset: offsetOf(item), rest: segments.slice(1) };
  }
  if (!isMap(node)) return undefined;
  const pairs = new Map(node.items.map((pair) => [isScalar(pair.key) ? String(pair.key.value) : undefined, pair]));
  for (let count = segments.length; count > 0; count -= 1) {
    const pair = pairs.get(segments.slice(0, count).join("."));
    if (pair !== undefined) return { node: pair.value, offset: offsetOf(pair.key), rest: segments.slice(count) };
  }
  return undefined;
}

const offsetOf = (node: unknown): number | undefined =>
  isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
