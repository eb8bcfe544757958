import type { Frame } from "@berth/docker-client";
import { LOG_START, type LogCursor } from "./log-cursor.ts";

/** A whole line, or a piece of a very long one, and the place behind it. */
export interface PlacedLine {
  readonly cursor: LogCursor;
  readonly text: string;
}

const MOMENT_LENGTH = LOG_START.moment.length;
const NEWLINE = 0x0a;
const LINE_BYTES_MAX = 65_536; // A longer line is handed on in pieces, so that memory stays bounded.

/** Puts the frames of each stream together to lines: the engine cuts long ones, and repeats their moment. */
export async function* placeFrames(frames: AsyncIterable<Frame>): AsyncGenerator<PlacedLine> {
  const open = new Map<Frame["stream"], Buffer>();
  // The line before was handed on without its end: the end that follows makes no line of its own.
  const torn = new Set<Frame["stream"]>();
  const count = counter();
  for await (const { stream, bytes } of frames) {
    const moment = bytes.toString("latin1", 0, MOMENT_LENGTH);
    const cursor = { moment, count: count(moment) };
    const piece = bytes.subarray(MOMENT_LENGTH + 1);
    const before = open.get(stream);
    const line = before === undefined ? piece : Buffer.concat([before, piece]);
    const isWhole = line.at(-1) === NEWLINE;
    if (!isWhole && line.length < LINE_BYTES_MAX) {
      open.set(stream, Buffer.from(line));
      continue;
    }
    open.delete(stream);
    const end = isWhole ? line.length - 1 : line.length;
    const isEndOnly = torn.delete(stream) && end === 0;
    if (!isWhole) torn.add(stream);
    if (isEndOnly) continue;
    yield { cursor, text: textOf(line.subarray(0, end)) };
  }
}

/** How many frames there were of a moment, this one included. Old moments do not come again. */
function counter(): (moment: string) => number {
  const counts = new Map<string, number>();
  return (moment) => {
    const count = (counts.get(moment) ?? 0) + 1;
    if (counts.size > MOMENTS_MAX) counts.clear();
    counts.set(moment, count);
    return count;
  };
}

/** A carriage return takes the line back to its start, as on a terminal. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8").replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
}

const MOMENTS_MAX = 10_000;
