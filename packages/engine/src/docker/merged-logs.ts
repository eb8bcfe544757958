import { invalid } from "@berth/core";
import type { LogLine, LogQuery } from "@berth/core/ports";
import { cursorAt, cursorText, LOG_START, readCursor } from "./log-cursor.ts";

export interface LoggedContainer {
  readonly id: string;
  /** As in its lines; `undefined` for the only one. */
  readonly title: string | undefined;
}

export interface MergedLogPlace {
  /** The release's containers now, in order. A plain cursor is one of the first. */
  containers(): Promise<readonly LoggedContainer[]>;
  /** The log of one container, without gap or repeat. */
  read(containerId: string, query: LogQuery): AsyncIterable<LogLine>;
  /** A container without a title is not always the only one: one that ends is replaced by another. */
  readonly areReplaced?: boolean;
  /** Resolves when containers may have come or gone, at the latest after a second. */
  changed(signal: AbortSignal | undefined): Promise<void>;
}

/**
 * The logs of all containers of a release as one, each line with its container. What was printed before the call comes
 * in the order of its time, what is printed later as it arrives. Its cursor is the position in each log, so that a
 * reader who continues after it misses and repeats nothing, also of containers that came or went meanwhile.
 */
export async function* readMergedLog(place: MergedLogPlace, query: LogQuery): AsyncGenerator<LogLine> {
  const { after, follow = false, signal } = query;
  const containers = await place.containers();
  const positions = positionsIn(after, containers);
  const at = (container: LoggedContainer, line: LogLine): LogLine => {
    positions.set(keyOf(container), line.cursor);
    // The only container has a plain cursor, as a release without replicas.
    const isOnly = container.title === undefined && place.areReplaced !== true;
    const cursor = isOnly ? line.cursor : textOf(positions);
    return { ...line, cursor, ...(container.title === undefined ? {} : { container: container.title }) };
  };
  // A follower of everything needs no order, and continues by itself after a lost connection.
  const isOfAll = after !== undefined || isUnlimited(query);
  const earlier = follow && isOfAll ? [] : await newestOf(place, containers, positions, query);
  for (const { container, line } of earlier) yield at(container, line);
  if (!follow || signal?.aborted) return;
  for await (const { container, line } of arriving(place, positions, query)) yield at(container, line);
}

interface ContainerLine {
  readonly container: LoggedContainer;
  readonly line: LogLine;
}

/** Cursors by the short id of their container. */
type Positions = Map<string, string>;

/**
 * The newest lines of all, read from one log after the other, so that only one of them is in memory besides. The
 * positions are before them afterwards.
 */
async function newestOf(
  place: MergedLogPlace,
  containers: readonly LoggedContainer[],
  positions: Positions,
  { after, lines: count = ALL_LINES, since, signal }: LogQuery,
): Promise<readonly ContainerLine[]> {
  let newest: readonly (ContainerLine & { readonly before: string })[] = [];
  const start = cursorText(since === undefined ? LOG_START : cursorAt(since));
  for (const container of containers) {
    let cursor = positions.get(keyOf(container)) ?? start;
    // One more than is returned, whose cursor is the position before those that are.
    const last = { lines: count + 1, ...(since === undefined ? {} : { since }) };
    const query = { ...(after === undefined ? last : { after: cursor }), ...(signal && { signal }) };
    const own: (ContainerLine & { readonly before: string })[] = [];
    for await (const line of place.read(container.id, query)) {
      own.push({ container, line, before: cursor });
      cursor = line.cursor;
    }
    positions.set(keyOf(container), cursor);
    newest = merged(newest, own).slice(-count || Number.POSITIVE_INFINITY);
  }
  for (const { container, before } of newest.toReversed()) positions.set(keyOf(container), before);
  return newest;
}

/** Both are sorted already, but for the two streams of a container. */
const merged = <T extends ContainerLine>(one: readonly T[], other: readonly T[]): readonly T[] =>
  one.length === 0
    ? other
    : [...one, ...other].sort(({ line: { moment: a = "" } }, { line: { moment: b = "" } }) =>
        a < b ? -1 : a > b ? 1 : 0,
      );

/** New lines of all containers as they come, also of those that are added. Ends when the release has none. */
async function* arriving(
  place: MergedLogPlace,
  positions: Positions,
  { signal }: LogQuery,
): AsyncGenerator<ContainerLine> {
  const own = new AbortController();
  const ended = signal === undefined ? own.signal : AbortSignal.any([signal, own.signal]);
  const open = new Map<string, Follower>();
  // At most one of each container, since it is asked for the next line only when this one was returned. A race of their
  // promises would keep something for every line of one container while another prints nothing.
  const arrivals: Arrival[] = [];
  let wake = () => {};

  const ask = (one: Follower) => {
    const arrived = (arrival: Pick<Arrival, "result" | "failure">) => {
      arrivals.push({ one, ...arrival });
      wake();
    };
    one.asked = one.lines.next().then(
      (result) => arrived({ result }),
      (failure: unknown) => arrived({ failure: { cause: failure } }),
    );
  };

  try {
    for (;;) {
      let isOutdated = false;
      // Registered before the look, so that no change between the two is missed.
      void place.changed(ended).then(() => {
        isOutdated = true;
        wake();
      });
      const containers = await place.containers();
      for (const container of containers) {
        if (open.has(container.id)) continue;
        const after = positions.get(keyOf(container)) ?? cursorText(LOG_START);
        const lines = place.read(container.id, { after, follow: true, signal: ended })[Symbol.asyncIterator]();
        const one: Follower = { container, lines, asked: Promise.resolve() };
        open.set(container.id, one);
        ask(one);
      }
      const known = new Set(containers.map(keyOf));
      for (const key of positions.keys()) if (!known.has(key)) positions.delete(key);
      if (open.size === 0 || ended.aborted) return;
      while (!isOutdated) {
        const { one, result, failure } = arrivals.shift() ?? {};
        if (failure !== undefined) throw failure.cause;
        if (one === undefined || result === undefined) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        } else if (result.done) {
          open.delete(one.container.id);
          isOutdated = true;
        } else {
          yield { container: one.container, line: result.value };
          ask(one);
        }
      }
    }
  } finally {
    own.abort();
    await Promise.allSettled([...open.values()].flatMap(({ asked, lines }) => [asked, lines.return?.()]));
  }
}

interface Follower {
  readonly container: LoggedContainer;
  readonly lines: AsyncIterator<LogLine>;
  /** Resolves when its next line has arrived, or it has ended or failed. */
  asked: Promise<void>;
}

interface Arrival {
  readonly one: Follower;
  readonly result?: IteratorResult<LogLine>;
  readonly failure?: { readonly cause: unknown };
}

/** @throws DomainError `request.invalid` */
function positionsIn(after: string | undefined, containers: readonly LoggedContainer[]): Positions {
  if (after === undefined) return new Map();
  const [main] = containers;
  if (!after.includes("=")) {
    readCursor(after);
    return new Map(main === undefined ? [] : [[keyOf(main), after]]);
  }
  const known = new Set(containers.map(keyOf));
  const entries = after.split("~").map((entry) => {
    const [, key, cursor = ""] = /^([0-9a-f]{12})=(.*)$/s.exec(entry) ?? [];
    if (key === undefined) throw invalid({ after: ["This is not a cursor of this log."] });
    readCursor(cursor);
    return [key, cursor] as const;
  });
  return new Map(entries.filter(([key]) => known.has(key)));
}

const textOf = (positions: Positions): string => [...positions].map(([key, cursor]) => `${key}=${cursor}`).join("~");

const keyOf = ({ id }: LoggedContainer): string => id.slice(0, 12);

const isUnlimited = ({ lines, since }: LogQuery): boolean => since === undefined && (lines ?? ALL_LINES) >= ALL_LINES;

/** More than engines keep. */
const ALL_LINES = 1_000_000;
