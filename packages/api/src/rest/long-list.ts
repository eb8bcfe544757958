import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import type { Paging } from "@berth/core/ports";
import pLimit from "p-limit";

/** Reads a part of a list. */
export type ReadPart = (page: { readonly skip: number; readonly take: number }) => Promise<readonly unknown[]>;

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
export async function longList(read: ReadPart, asked: Paging, known: KnownSizes): Promise<string | Readable> {
  const parts = listParts(read, asked, known);
  const first = await parts.next();
  // A list has at least one part.
  const { items, isLast } = first.value as ListPart;
  const text = items.map(textOf).join(",");
  if (isLast) return `[${text}]`;
  return Readable.from(wholeList(text, parts), { objectMode: false });
}

async function* wholeList(first: string, parts: AsyncIterable<ListPart>) {
  yield `[${first}`;
  for await (const { items } of parts) if (items.length > 0) yield `,${items.map(textOf).join(",")}`;
  yield "]";
}

interface KnownSizes {
  readonly list: string;
  readonly sizes: ItemSizes;
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
  { list, sizes }: KnownSizes,
): AsyncGenerator<ListPart, undefined> {
  const sent = new Set<string>();
  let count = 0;
  const part = (items: readonly unknown[], isLast: boolean): ListPart => {
    for (const item of items) sent.add(identityOf(item));
    count += items.length;
    for (const oldest of sent) {
      if (sent.size <= SENT_KNOWN_MAX) break;
      sent.delete(oldest);
    }
    if (items.length > 0) sizes.learn(list, items.reduce<number>((sum, item) => sum + sizeOf(item), 0) / items.length);
    return { items, isLast: isLast || count >= take };
  };
  const first = Math.min(take, itemsPerWindow(sizes.of(list)));
  const items = await read({ skip, take: first });
  let last = part(items, items.length < first);
  yield last;
  for (let position = skip + items.length; !last.isLast; ) {
    const window = { sent, position, skip, count: itemsPerWindow(sizes.of(list)) };
    const found = await oneOfFew(() => readBehind(read, window));
    position = found.skip + found.items.length;
    const fresh = found.items.filter((item) => !sent.has(identityOf(item)));
    last = part(fresh.slice(0, take - count), found.isLast);
    yield last;
  }
}

/** Deletions move later items forward: a part overlaps with items that were sent, so that none is missed. */
async function readBehind(
  read: ReadPart,
  { sent, position, skip, count }: { sent: ReadonlySet<string>; position: number; skip: number; count: number },
) {
  const overlap = Math.ceil(count / 8);
  for (let from = Math.max(skip, position - overlap); ; from = Math.max(skip, from - count)) {
    if (position - from > SENT_KNOWN_MAX) throw changedTooMuch();
    const items = await read({ skip: from, take: count + overlap });
    if (from === skip || items.some((item) => sent.has(identityOf(item)))) {
      return { items, skip: from, isLast: items.length < count + overlap };
    }
  }
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
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + 4 + sizeOf(item), 2);
}

const itemsPerWindow = (itemBytes: number): number =>
  Math.max(1, Math.min(WINDOW_ITEMS_MAX, Math.floor(WINDOW_BYTES / Math.max(1, itemBytes))));

/** Few parts of long lists are read at the same time, so that other requests are not delayed. */
const oneOfFew = pLimit(2);

const WINDOW_BYTES = 128 * 1024;
/** Memory of an answer in parts, except for very large items: a part as objects and as text, and the previous one. */
export const LONG_LIST_BYTES = 4 * WINDOW_BYTES;
/**
 * Number of sent items that a part may overlap with. More would need a megabyte for each client of a very long list.
 */
const SENT_KNOWN_MAX = 2000;
/** The API's maximum of a page is 1000; reading that many at once would block the event loop. */
const WINDOW_ITEMS_MAX = 200;
/** For a list that was never read: its items may have up to some 2 MB. */
const FIRST_WINDOW_ITEMS = 8;
const LISTS_KNOWN_MAX = 10_000;
