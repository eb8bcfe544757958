import type { Frame } from "@berth/docker-client";
import { LOG_START, type LogCursor } from "./log-cursor.ts";

/** A whole line, or a part of a very long one, and the cursor after it. */
export interface PlacedLine {
  readonly cursor: LogCursor;
  readonly text: string;
}

const MOMENT_LENGTH = LOG_START.moment.length;
const NEWLINE = 0x0a;
const LINE_BYTES_MAX = 65_536; // Longer lines are split, so that memory stays bounded.

/** Joins the frames of each stream to lines: the engine splits long ones and repeats the timestamp. */
export async function* placeFrames(frames: AsyncIterable<Frame>): AsyncGenerator<PlacedLine> {
  const open = new Map<Frame["stream"], Buffer>();
  // Streams whose last line was split: the line end that follows makes no empty line.
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

/** Counts the frames with the same timestamp. Old timestamps do not occur again. */
function counter(): (moment: string) => number {
  const counts = new Map<string, number>();
  return (moment) => {
    const count = (counts.get(moment) ?? 0) + 1;
    if (counts.size > MOMENTS_MAX) counts.clear();
    counts.set(moment, count);
    return count;
  };
}

/** Text after a carriage return replaces the line, as on a terminal. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8").replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
}

const MOMENTS_MAX = 10_000;
