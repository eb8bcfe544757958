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
  /** Whether `containers` has them all. Default: yes. Otherwise others may come back, and are continued where they were. */
  isComplete?(): boolean;
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
  const positions = positionsIn(after, containers, place.isComplete?.() ?? true);
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
  const arrivals = queue<Arrival>();
  const followers = new Map<string, Follower>();

  const followed = () => [...followers.values()].map(({ container }) => container);

  const awaitChange = () => void place.changed(ended).then(() => arrivals.add("change"));

  const awaitLine = (follower: Follower) => {
    const next = follower.lines.next();
    const add = () => arrivals.add({ follower, next });
    follower.arrived = next.then(add, add);
  };

  /** Follows containers that were added, and those whose log ended although they remain. */
  const followContainers = async () => {
    const containers = await place.containers();
    for (const container of containers) {
      const known = followers.get(container.id);
      if (known !== undefined) {
        // The only container has no title until another one is added.
        known.container = container;
        continue;
      }
      const after = positions.get(keyOf(container)) ?? cursorText(LOG_START);
      const lines = place.read(container.id, { after, follow: true, signal: ended })[Symbol.asyncIterator]();
      const follower: Follower = { container, lines, arrived: Promise.resolve() };
      followers.set(container.id, follower);
      awaitLine(follower);
    }
    // Those that are still followed may only be missing for a moment.
    if (place.isComplete?.() ?? true) forgetOthers(positions, [...containers, ...followed()]);
  };

  try {
    // A change is awaited before the containers are read, so that none between the two is missed.
    awaitChange();
    await followContainers();
    while (followers.size > 0 && !ended.aborted) {
      const arrival = await arrivals.next();
      if (arrival === "change") {
        awaitChange();
        await followContainers();
        continue;
      }
      const { follower, next } = arrival;
      const { done, value: line } = await next;
      if (done) {
        followers.delete(follower.container.id);
        await followContainers();
      } else {
        yield { container: follower.container, line };
        awaitLine(follower);
      }
    }
  } finally {
    own.abort();
    await Promise.allSettled([...followers.values()].flatMap(({ arrived, lines }) => [arrived, lines.return?.()]));
  }
}

interface Follower {
  container: LoggedContainer;
  readonly lines: AsyncIterator<LogLine>;
  /** Resolves when its next line is in the queue, or that it has ended or failed. */
  arrived: Promise<void>;
}

/** The next line of a container, as a settled promise, or that containers may have come or gone. */
type Arrival = "change" | { readonly follower: Follower; readonly next: Promise<IteratorResult<LogLine>> };

/**
 * What arrives from several sources, for one reader. It is short, since each source is asked again only when its last
 * item was taken. A race of their promises would keep something for every line of one container while another prints
 * nothing.
 */
function queue<T>() {
  const items: T[] = [];
  let wake = () => {};
  return {
    add(item: T): void {
      items.push(item);
      wake();
    },
    async next(): Promise<T> {
      for (;;) {
        const item = items.shift();
        if (item !== undefined) return item;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** Only the positions of containers that exist are part of a cursor. */
function forgetOthers(positions: Positions, containers: readonly LoggedContainer[]): void {
  const known = new Set(containers.map(keyOf));
  for (const key of positions.keys()) if (!known.has(key)) positions.delete(key);
}

/** @throws DomainError `request.invalid` */
function positionsIn(
  after: string | undefined,
  containers: readonly LoggedContainer[],
  isComplete: boolean,
): Positions {
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
  if (isComplete) return new Map(entries.filter(([key]) => known.has(key)));
  const others = entries.filter(([key]) => !known.has(key)).slice(-MISSING_MAX);
  return new Map([...others, ...entries.filter(([key]) => known.has(key))]);
}

const textOf = (positions: Positions): string => [...positions].map(([key, cursor]) => `${key}=${cursor}`).join("~");

const keyOf = ({ id }: LoggedContainer): string => id.slice(0, 12);

const isUnlimited = ({ lines, since }: LogQuery): boolean => since === undefined && (lines ?? ALL_LINES) >= ALL_LINES;

/** Positions of missing containers in a cursor, which is part of addresses. */
const MISSING_MAX = 20;

/** More than engines keep. */
const ALL_LINES = 1_000_000;
