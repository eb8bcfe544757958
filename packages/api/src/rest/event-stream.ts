import { Readable } from "node:stream";
import { isTrackedEnvelope } from "@trpc/server";
import type { Problem } from "../errors.ts";

export interface EventStreamOptions {
  /** Keeps proxies from closing an idle stream. */
  readonly pingSeconds: number;
  /** The last event of a stream that failed. */
  readonly problem: (error: unknown) => Problem;
}

/**
 * Events as `text/event-stream`: `id:` if the event has one, `data:` as one line of JSON. Ends with `event: end` when
 * no more will come, or with `event: error` and the problem on failure; a client that gets neither reconnects with
 * `Last-Event-ID`.
 */
export function eventStream(events: AsyncIterable<unknown>, options: EventStreamOptions): Readable {
  return Readable.from(textOf(events, options), { objectMode: false });
}

async function* textOf(events: AsyncIterable<unknown>, { pingSeconds, problem }: EventStreamOptions) {
  const iterator = events[Symbol.asyncIterator]();
  try {
    yield RECONNECT_SOON;
    let next = iterator.next();
    for (;;) {
      const result = await settledWithin(next, pingSeconds);
      if (result === "quiet") {
        yield ": ping\n\n";
        continue;
      }
      if (result.done) break;
      yield frame(result.value);
      next = iterator.next();
    }
    yield "event: end\ndata: {}\n\n";
  } catch (error) {
    yield `event: error\ndata: ${JSON.stringify(problem(error).body)}\n\n`;
  } finally {
    await iterator.return?.();
  }
}

function frame(event: unknown): string {
  if (!isTrackedEnvelope(event)) return `data: ${JSON.stringify(event)}\n\n`;
  const [id, data] = event;
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

async function settledWithin<T>(promise: Promise<T>, seconds: number): Promise<T | "quiet"> {
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<"quiet">((resolve) => {
    timer = setTimeout(resolve, seconds * 1000, "quiet");
  });
  try {
    return await Promise.race([promise, quiet]);
  } finally {
    clearTimeout(timer);
  }
}

/** An EventSource waits this long (milliseconds) before it reconnects. */
const RECONNECT_SOON = "retry: 1000\n\n";
