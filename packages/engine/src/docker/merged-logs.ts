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
    const cursor = container.title === undefined ? line.cursor : textOf(positions);
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
  try {
    for (;;) {
      // Registered before the look, so that no change between the two is missed.
      const changed = place.changed(ended).then(() => undefined);
      const containers = await place.containers();
      for (const container of containers) {
        if (!open.has(container.id)) open.set(container.id, follower(place, container, positions, ended));
      }
      const known = new Set(containers.map(keyOf));
      for (const key of positions.keys()) if (!known.has(key)) positions.delete(key);
      if (open.size === 0 || ended.aborted) return;
      for (let next = await first(open, changed); next !== undefined; next = await first(open, changed)) {
        const { container, result } = next;
        if (result.done) {
          open.delete(container.id);
          break;
        }
        yield { container, line: result.value };
        advance(open.get(container.id));
      }
    }
  } finally {
    own.abort();
    // A reader that failed has been reported by `next` already.
    await Promise.allSettled([...open.values()].flatMap(({ pending, lines }) => [pending, lines.return?.()]));
  }
}

interface Follower {
  readonly container: LoggedContainer;
  readonly lines: AsyncIterator<LogLine>;
  pending: Promise<{ readonly container: LoggedContainer; readonly result: IteratorResult<LogLine> }>;
}

function follower(
  place: MergedLogPlace,
  container: LoggedContainer,
  positions: Positions,
  signal: AbortSignal,
): Follower {
  const after = positions.get(keyOf(container)) ?? cursorText(LOG_START);
  const lines = place.read(container.id, { after, follow: true, signal })[Symbol.asyncIterator]();
  const made = { container, lines, pending: lines.next().then((result) => ({ container, result })) };
  // Handled where it is awaited; until then a rejection is not unhandled.
  made.pending.catch(() => undefined);
  return made;
}

function advance(one: Follower | undefined): void {
  if (one === undefined) return;
  const { container, lines } = one;
  one.pending = lines.next().then((result) => ({ container, result }));
  one.pending.catch(() => undefined);
}

/** The next line of any, or `undefined` when containers may have changed. */
const first = (open: ReadonlyMap<string, Follower>, changed: Promise<undefined>) =>
  Promise.race([...[...open.values()].map(({ pending }) => pending), changed]);

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
