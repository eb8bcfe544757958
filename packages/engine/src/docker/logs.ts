import type { LogLine, LogQuery } from "@berth/core/ports";
import { type Frame, readFrames, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import { cursorAt, cursorText, isWellAfter, LOG_START, type LogCursor, readCursor, sinceOf } from "./log-cursor.ts";
import { type PlacedLine, placeFrames } from "./log-lines.ts";

export interface LogSource {
  readonly docker: Docker;
  readonly containerId: string;
  /** Resolves when the container's state may have changed, at the latest after a second. */
  changed(signal: AbortSignal | undefined): Promise<void>;
}

/** Reads a container's log across restarts and lost connections, without repeating or losing lines. */
export async function* readLog(source: LogSource, query: LogQuery): AsyncGenerator<LogLine> {
  const { signal, follow = false } = query;
  let cursor: LogCursor | undefined;
  const handOn = (line: PlacedLine): LogLine => {
    cursor = line.cursor;
    return { cursor: cursorText(line.cursor), line: line.text, moment: line.cursor.moment };
  };

  const first = await firstPass(source, query);
  cursor = first.cursor;
  let failures = 0;
  try {
    for await (const line of first.lines) yield handOn(line);
  } catch (cause) {
    const code = statusCodeOf(cause);
    // It was removed since it was found.
    if (follow && (code === 404 || code === 409)) return;
    // A reader that follows continues behind the last line that it got.
    if (!follow || isAborted(signal) || code !== undefined) throw cause;
    failures = 1;
  }
  // Existing lines up to the cursor are skipped before following.
  while (follow && !isAborted(signal)) {
    try {
      for await (const line of linesBehind(source, cursor, { follow, signal })) {
        failures = 0;
        yield handOn(line);
      }
    } catch (cause) {
      if (isAborted(signal)) return;
      const code = statusCodeOf(cause);
      if (code === 404 || code === 409) return;
      // The connection was lost; reading continues after the last line.
      if (++failures > FAILURES_MAX) throw cause;
    }
    if (isAborted(signal) || (await isGone(source))) return;
    await source.changed(signal);
  }
}

interface FirstPass {
  readonly cursor: LogCursor;
  readonly lines: AsyncIterable<PlacedLine> | readonly PlacedLine[];
}

async function firstPass(source: LogSource, { after, since, lines, signal }: LogQuery): Promise<FirstPass> {
  if (after !== undefined) {
    const cursor = readCursor(after);
    return { cursor, lines: linesBehind(source, cursor, { follow: false, signal }) };
  }
  if (since !== undefined) return recentLines(source, cursorAt(since), lines ?? LINES_MAX, signal);
  if (lines === undefined || lines > LINES_MAX) {
    return { cursor: LOG_START, lines: linesBehind(source, LOG_START, { follow: false, signal }) };
  }
  // More than requested is read: long lines are several frames, and frames with one timestamp must stay together.
  const tail = [...(await collect(linesOf(source, { tail: lines + TAIL_MARGIN, signal })))];
  const last = tail.slice(Math.max(tail.length - lines, 0));
  // Zero requested lines: follow from the current end.
  return { cursor: tail.at(-1)?.cursor ?? LOG_START, lines: lines === 0 ? [] : last };
}

/** The last `count` lines since a time; no more than that is kept in memory. */
async function recentLines(
  source: LogSource,
  start: LogCursor,
  count: number,
  signal: AbortSignal | undefined,
): Promise<FirstPass> {
  let cursor = start;
  const recent: PlacedLine[] = [];
  for await (const line of linesOf(source, { since: sinceOf(start), signal })) {
    if (line.cursor.moment < start.moment) continue;
    cursor = line.cursor;
    recent.push(line);
    if (recent.length > 2 * count) recent.splice(0, recent.length - count);
  }
  return { cursor, lines: recent.slice(Math.max(recent.length - count, 0)) };
}

interface Pass {
  readonly follow: boolean;
  readonly signal: AbortSignal | undefined;
}

/** All lines after a cursor, or the later ones that remain when its frame was rotated away. */
async function* linesBehind(source: LogSource, cursor: LogCursor, pass: Pass): AsyncGenerator<PlacedLine> {
  if (cursor === LOG_START) return yield* linesOf(source, pass);
  let isBehind = false;
  let held: PlacedLine[] = [];
  for await (const line of linesOf(source, { ...pass, since: sinceOf(cursor) })) {
    if (isBehind) {
      yield line;
      continue;
    }
    if (line.cursor.moment === cursor.moment && line.cursor.count >= cursor.count) {
      isBehind = true;
      held = [];
      // The rest of a line whose beginning was returned before.
      if (line.cursor.count > cursor.count) yield line;
      continue;
    }
    if (line.cursor.moment > cursor.moment) held.push(line);
    if (!isWellAfter(line.cursor.moment, cursor.moment)) continue;
    isBehind = true;
    yield* held;
    held = [];
  }
  yield* held;
}

interface Range {
  readonly follow?: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly signal: AbortSignal | undefined;
}

async function* linesOf(source: LogSource, range: Range): AsyncGenerator<PlacedLine> {
  yield* placeFrames(framesOf(source, range));
}

async function* framesOf({ docker, containerId }: LogSource, range: Range): AsyncGenerator<Frame> {
  const { follow = false, tail, since = "0", signal } = range;
  if (isAborted(signal)) return;
  const stream = await openStream(docker, {
    // The library appends the options after the question mark.
    path: `/containers/${containerId}/logs?`,
    options: { stdout: true, stderr: true, timestamps: true, follow, since, tail: tail ?? "all" },
    signal,
  });
  try {
    yield* readFrames(stream);
  } catch (cause) {
    if (!isAborted(signal)) throw cause;
  } finally {
    stream.destroy();
  }
}

type ByteStream = AsyncIterable<Buffer> & { destroy(): void };

/** The library would read a log that is not followed into memory; this always returns a stream. */
function openStream(
  docker: Docker,
  {
    path,
    options,
    signal,
  }: { readonly path: string; readonly options: object; readonly signal: AbortSignal | undefined },
): Promise<ByteStream> {
  const statusCodes = { 200: true, 404: "no such container", 409: "container is being removed", 500: "server error" };
  return new Promise((resolve, reject) => {
    docker.modem.dial(
      {
        path,
        method: "GET",
        isStream: true,
        statusCodes,
        options,
        ...(signal === undefined ? {} : { abortSignal: signal }),
      },
      (error: unknown, stream: unknown) => {
        if (error) reject(error);
        // With this status the response is a stream.
        else resolve(stream as ByteStream);
      },
    );
  });
}

async function isGone({ docker, containerId }: LogSource): Promise<boolean> {
  try {
    await docker.getContainer(containerId).inspect();
    return false;
  } catch (cause) {
    return statusCodeOf(cause) === 404;
  }
}

async function collect(lines: AsyncIterable<PlacedLine>): Promise<PlacedLine[]> {
  const all: PlacedLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const isAborted = (signal: AbortSignal | undefined) => signal?.aborted === true;

/** Above this, the log is read from its beginning instead. */
const LINES_MAX = 20_000;
const TAIL_MARGIN = 64;
/** Consecutive failures with a pause between: some minutes for a server to come back. */
const FAILURES_MAX = 300;
