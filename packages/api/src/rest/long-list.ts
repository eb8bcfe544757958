import { Readable } from "node:stream";
import type { Paging } from "@berth/core/ports";
import pLimit from "p-limit";

/** Reads a part of a list. */
type ReadWindow = (window: { readonly skip: number; readonly take: number }) => Promise<readonly unknown[]>;

/** Knows how large the items of lists are, by what was read before: a list of a few large ones is read in small parts. */
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
 * A list as JSON. A short one is answered as a text; a long one is read in parts, each when the client has taken the one
 * before, so that what a request holds does not grow with its answer. Every item that is there throughout is answered
 * once, also when others are inserted and deleted meanwhile.
 *
 * @param list Names the list among those whose items are alike.
 */
export async function longList(
  read: ReadWindow,
  { skip = 0, take = Number.POSITIVE_INFINITY }: Paging,
  { list, sizes }: { readonly list: string; readonly sizes: ItemSizes },
): Promise<string | Readable> {
  const count = Math.min(take, itemsPerWindow(sizes.of(list)));
  const items = await read({ skip, take: count });
  const texts = items.map(textOf);
  learn(sizes, list, texts);
  if (items.length < count || count === take) return `[${texts.join(",")}]`;
  const parts = followingParts(read, { items, skip, take, onRead: (read) => learn(sizes, list, read) });
  return Readable.from(wholeList(texts, parts), { objectMode: false });
}

async function* wholeList(first: readonly string[], parts: AsyncIterable<readonly string[]>) {
  yield `[${first.join(",")}`;
  for await (const texts of parts) if (texts.length > 0) yield `,${texts.join(",")}`;
  yield "]";
}

interface Following {
  /** The first part. */
  readonly items: readonly unknown[];
  readonly skip: number;
  readonly take: number;
  readonly onRead: (texts: readonly string[]) => void;
}

async function* followingParts(read: ReadWindow, { items, skip, take, onRead }: Following) {
  const sent = new Set(items.map(identityOf));
  let position = skip + items.length;
  let bytes = averageOf(items.map(textOf));
  while (sent.size < take) {
    const count = itemsPerWindow(bytes);
    const window = await oneOfFew(() => readBehind(read, { sent, position, skip, count }));
    const fresh = window.items.filter((item) => !sent.has(identityOf(item))).slice(0, take - sent.size);
    const texts = fresh.map(textOf);
    onRead(texts);
    if (texts.length > 0) bytes = averageOf(texts);
    for (const item of fresh) sent.add(identityOf(item));
    position = window.skip + window.items.length;
    yield texts;
    if (window.isLast) return;
  }
}

/** Deletions move what follows forward: a window begins with an item that was sent, so that none is left out. */
async function readBehind(
  read: ReadWindow,
  { sent, position, skip, count }: { sent: ReadonlySet<string>; position: number; skip: number; count: number },
) {
  const overlap = Math.ceil(count / 8);
  for (let from = Math.max(skip, position - overlap); ; from = Math.max(skip, from - count)) {
    const items = await read({ skip: from, take: count + overlap });
    if (from === skip || items.some((item) => sent.has(identityOf(item)))) {
      return { items, skip: from, isLast: items.length < count + overlap };
    }
  }
}

function identityOf(item: unknown): string {
  const { uuid, id } = (item ?? {}) as { readonly uuid?: unknown; readonly id?: unknown };
  return typeof uuid === "string" ? uuid : typeof id === "number" || typeof id === "string" ? `${id}` : textOf(item);
}

const textOf = (item: unknown): string => JSON.stringify(item);
const averageOf = (texts: readonly string[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
const itemsPerWindow = (itemBytes: number): number =>
  Math.max(1, Math.min(WINDOW_ITEMS_MAX, Math.floor(WINDOW_BYTES / Math.max(1, itemBytes))));

function learn(sizes: ItemSizes, list: string, texts: readonly string[]): void {
  if (texts.length > 0) sizes.learn(list, averageOf(texts));
}

/** Parts of long lists are read beside each other by few: everybody else's requests come between them. */
const oneOfFew = pLimit(2);

const WINDOW_BYTES = 512 * 1024;
/** API's own maximum of a page is 1000; more at once would hold up the event loop. */
const WINDOW_ITEMS_MAX = 200;
/** Of a list that was never read: no item is larger than some 2 MB. */
const FIRST_WINDOW_ITEMS = 8;
const LISTS_KNOWN_MAX = 10_000;
