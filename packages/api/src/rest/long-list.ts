import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import type { Paging } from "@berth/core/ports";
import { asDomainError } from "../errors.ts";
import { fairTurns } from "../fair-turns.ts";
import type { HeldBytes } from "../held-bytes.ts";

/**
 * Reads a part of a list.
 *
 * @param isSmallest `false` where it may refuse with `answer.too_large`, and is then asked for a smaller part.
 */
export type ReadPart = (
  page: { readonly skip: number; readonly take: number },
  isSmallest: boolean,
) => Promise<readonly unknown[]>;

/** Remembers the size of lists' items, so that a list with large items is read in small parts. */
export interface ItemSizes {
  of(list: string): number;
  learn(list: string, bytes: number): void;
}

export function itemSizes(): ItemSizes {
  const known = new Map<string, number>();
  return {
    of: (list) => known.get(list) ?? WINDOW_BYTES / FIRST_WINDOW_ITEMS,
    learn(list, bytes) {
      known.delete(list);
      known.set(list, bytes);
      const [oldest] = known.keys();
      if (known.size > LISTS_KNOWN_MAX && oldest !== undefined) known.delete(oldest);
    },
  };
}

/**
 * A list as JSON. A short one is returned as text; a long one is read in parts, each when the client has received the
 * one before, so that memory does not grow with the answer.
 *
 * @param list Identifies lists whose items have similar sizes.
 */
export async function longList(
  read: ReadPart,
  asked: Paging,
  known: KnownSizes,
  bytes?: Pick<HeldBytes, "note">,
): Promise<string | Readable> {
  const parts = listParts(read, asked, known);
  // A list has one part at least.
  const { items, isLast } = (await parts.next()).value as ListPart;
  const text = textOf(items);
  if (isLast) return text;
  return Readable.from(wholeList([text.slice(1, -1)], parts, bytes), { objectMode: false });
}

/** While a client does not read, it costs one text: neither the first one nor objects are kept here. */
async function* wholeList(
  first: string[],
  parts: AsyncIterator<ListPart, undefined>,
  bytes: Pick<HeldBytes, "note"> | undefined,
) {
  try {
    yield* counted(`[${first.pop()}`, bytes);
    for (;;) {
      const text = await nextText(parts);
      if (text === undefined) break;
      if (text !== "") yield* counted(text, bytes);
    }
    yield "]";
  } finally {
    await parts.return?.();
  }
}

async function nextText(parts: AsyncIterator<ListPart, undefined>): Promise<string | undefined> {
  const { value } = await parts.next();
  if (value === undefined) return undefined;
  return value.items.length === 0 ? "" : `,${textOf(value.items).slice(1, -1)}`;
}

/** Items that are larger than a part should be are counted beside what every list counts, until the client has them. */
function* counted(text: string, bytes: Pick<HeldBytes, "note"> | undefined) {
  const extra = Math.max(0, text.length - LONG_LIST_BYTES);
  bytes?.note(extra);
  yield text;
  bytes?.note(-extra);
}

interface KnownSizes {
  readonly list: string;
  readonly teamId: number | undefined;
  readonly sizes: ItemSizes;
  /** Default: `PART`. */
  readonly size?: PartSize;
}

export interface PartSize {
  readonly bytes: number;
  readonly items: number;
}

export interface ListPart {
  readonly items: readonly unknown[];
  readonly isLast: boolean;
}

/**
 * A list in parts of a few hundred KB, each read on demand. Each item that exists throughout is returned exactly
 * once, even if others are inserted and deleted meanwhile.
 */
export async function* listParts(
  read: ReadPart,
  { skip = 0, take = Number.POSITIVE_INFINITY }: Paging,
  { list, teamId, sizes, size = PART }: KnownSizes,
): AsyncGenerator<ListPart, undefined> {
  const sent = new Set<string>();
  let count = 0;
  let position = skip;
  let isLast = false;
  const part = (items: readonly unknown[], isEnd: boolean): ListPart => {
    for (const item of items) sent.add(identityOf(item));
    count += items.length;
    for (const oldest of sent) {
      if (sent.size <= SENT_KNOWN_MAX) break;
      sent.delete(oldest);
    }
    if (items.length > 0) sizes.learn(list, typicalSize(items));
    isLast = isEnd || count >= take;
    return { items, isLast };
  };
  // In functions of their own: what stands here is in memory until the client has taken the part.
  const firstPart = () =>
    fitting(itemsOfFirstPart(take, itemsPerWindow(sizes.of(list), size)), async (count, isSmallest) => {
      const items = await read({ skip, take: count }, isSmallest);
      position += items.length;
      return part(items, items.length < count);
    });
  const nextPart = async () => {
    const found = await turn(teamId, () =>
      fitting(itemsPerWindow(sizes.of(list), size), (count, isSmallest) =>
        readBehind(read, { sent, position, skip, count, isSmallest }),
      ),
    );
    position = found.skip + found.items.length;
    const fresh = found.items.filter((item) => !sent.has(identityOf(item)));
    return part(fresh.slice(0, take - count), found.isLast);
  };
  yield await firstPart();
  while (!isLast) yield await nextPart();
}

/** Large items may follow small ones: a part that is too large is read in smaller ones. */
async function fitting<T>(most: number, read: (count: number, isSmallest: boolean) => Promise<T>): Promise<T> {
  for (let count = most; ; count = Math.ceil(count / 4)) {
    try {
      return await read(count, count === 1);
    } catch (refusal) {
      if (count === 1 || asDomainError(refusal).code !== "answer.too_large") throw refusal;
    }
  }
}

/** Deletions move what follows forward: a window begins with an item that was sent, so that none is left out. */
async function readBehind(read: ReadPart, { sent, position, skip, count, isSmallest }: PartWindow) {
  const overlap = Math.ceil(count / 8);
  for (let from = Math.max(skip, position - overlap); ; from = Math.max(skip, from - count)) {
    if (position - from > SENT_KNOWN_MAX) throw changedTooMuch();
    const items = await read({ skip: from, take: count + overlap }, isSmallest);
    if (from === skip || items.some((item) => sent.has(identityOf(item)))) {
      return { items, skip: from, isLast: items.length < count + overlap };
    }
  }
}

interface PartWindow {
  readonly sent: ReadonlySet<string>;
  readonly position: number;
  readonly skip: number;
  readonly count: number;
  readonly isSmallest: boolean;
}

const changedTooMuch = () =>
  new DomainError("request.overloaded", "The list changed too much while it was sent. Ask for it again.", {
    retryAfterSeconds: 1,
  });

function identityOf(item: unknown): string {
  const { uuid, id } = (item ?? {}) as { readonly uuid?: unknown; readonly id?: unknown };
  return typeof uuid === "string" ? uuid : typeof id === "number" || typeof id === "string" ? `${id}` : textOf(item);
}

const textOf = (item: unknown): string => JSON.stringify(item);

/** Approximate length of a value's JSON; escapes are not counted. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let size = 2;
  // Answers are plain objects. A list of their entries would be as much work as their text.
  for (const key in value) {
    const item = value[key as keyof typeof value] as unknown;
    if (item !== undefined) size += key.length + 4 + sizeOf(item);
  }
  return size;
}

/** The average size of a few items from all over a part. */
function typicalSize(items: readonly unknown[]): number {
  const step = Math.ceil(items.length / SIZED_ITEMS_MAX);
  const sizes = items.flatMap((item, index) => (index % step === 0 ? [sizeOf(item)] : []));
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}

const SIZED_ITEMS_MAX = 4;

/** A page a little larger than a part is read as one, since a second part would cost as much again. */
const itemsOfFirstPart = (take: number, count: number): number => (take <= count * 2 ? take : count);

const itemsPerWindow = (itemBytes: number, { bytes, items }: PartSize): number =>
  Math.max(1, Math.min(items, Math.floor(bytes / Math.max(1, itemBytes))));

/** Few parts of long lists are read at the same time, so that other requests are not delayed. */
const turn = fairTurns(2);

const WINDOW_BYTES = 128 * 1024;
/** Memory of an answer in parts, except for very large items: a part as objects and as text, and the previous one. */
export const LONG_LIST_BYTES = 4 * WINDOW_BYTES;
/** A window begins with one of the last that were sent. More would be a megabyte for each client of a very long list. */
const SENT_KNOWN_MAX = 1000;
/** API's own maximum of a page is 1000; more at once would hold up the event loop. */
const PART: PartSize = { bytes: WINDOW_BYTES, items: 200 };
/** For a list that was never read: its items may have up to some 2 MB. */
const FIRST_WINDOW_ITEMS = 8;
const LISTS_KNOWN_MAX = 10_000;
