import { text } from "node:stream/consumers";
import { DomainError } from "@berth/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { itemSizes, longList } from "./long-list.ts";

interface Item {
  readonly uuid: string;
  readonly text: string;
}

const itemOf = (uuid: string, bytes = 40_000): Item => ({ uuid, text: "x".repeat(bytes) });
const itemsOf = (count: number, bytes?: number) => Array.from({ length: count }, (_, at) => itemOf(`u${at}`, bytes));

/** A list that records which parts are read. `change` runs before each part except the first. */
function listOf(items: Item[], change: (reads: number) => void = () => undefined) {
  const reads: { skip: number; take: number }[] = [];
  const read = async (window: { skip: number; take: number }) => {
    if (reads.length > 0) change(reads.length);
    reads.push(window);
    return items.slice(window.skip, window.skip + window.take);
  };
  return { reads, read };
}

const known = () => ({ list: "a", teamId: 1, sizes: itemSizes() });
const answered = async (list: string | NodeJS.ReadableStream): Promise<Item[]> =>
  JSON.parse(typeof list === "string" ? list : await text(list));

describe("a list", () => {
  test("that is short is one text, read at once", async () => {
    const { read, reads } = listOf(itemsOf(5));
    expect(typeof (await longList(read, {}, known()))).toBe("string");
    expect(reads).toHaveLength(1);
  });

  test.each([
    [{}, 0, 300],
    [{ skip: 290 }, 290, 300],
    [{ take: 150 }, 0, 150],
    [{ skip: 40, take: 100 }, 40, 140],
    [{ skip: 500 }, 500, 500],
  ])("is answered as it was asked for: %j", async (asked, from, to) => {
    const items = itemsOf(300);
    const { read } = listOf(items);
    expect(await answered(await longList(read, asked, known()))).toEqual(items.slice(from, to));
  });

  test("is read no further than the client takes it", async () => {
    const { read, reads } = listOf(itemsOf(1000));
    const list = await longList(read, {}, known());
    if (typeof list === "string") throw new Error("It is long");
    const chunks = list[Symbol.asyncIterator]();
    await chunks.next();
    expect(reads.length).toBeLessThan(4);
    await chunks.return?.();
    expect(list.destroyed).toBe(true);
  });

  test("of large items is read a few at a time, of small ones many, once they are known", async () => {
    const sizes = itemSizes();
    const large = listOf(itemsOf(40, 1_000_000));
    await answered(await longList(large.read, {}, { list: "large", teamId: 1, sizes }));
    expect(Math.max(...large.reads.map(({ take }) => take))).toBeLessThanOrEqual(8);
    await longList(large.read, {}, { list: "large", teamId: 1, sizes });
    expect(large.reads.at(-1)?.take).toBe(1);
    const small = listOf(itemsOf(100, 10));
    await longList(small.read, {}, { list: "small", teamId: 1, sizes });
    await longList(small.read, {}, { list: "small", teamId: 1, sizes });
    expect(small.reads.at(-1)).toEqual({ skip: 0, take: 200 });
  });

  test("has every item that is there throughout, once and in order, whatever else comes and goes", async () => {
    const change = fc.record({ at: fc.nat(400), count: fc.nat(30), isInserted: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 200 }), fc.array(change, { maxLength: 60 }), async (size, changes) => {
        const items = itemsOf(size, 20_000);
        const lasting = new Set(items.map(({ uuid }) => uuid));
        let made = 0;
        const { read } = listOf(items, (reads) => {
          const { at, count, isInserted } = changes[reads - 1] ?? { at: 0, count: 0, isInserted: false };
          if (isInserted) items.splice(at, 0, itemOf(`new${made++}`));
          else for (const { uuid } of items.splice(at, count)) lasting.delete(uuid);
        });
        const uuids = (await answered(await longList(read, {}, known()))).map(({ uuid }) => uuid);
        expect(new Set(uuids).size).toBe(uuids.length);
        expect(uuids.filter((uuid) => lasting.has(uuid))).toEqual([...lasting]);
      }),
      { numRuns: 200 },
    );
  });

  test("reads large items that follow small ones in smaller parts, and answers all of them", async () => {
    const items = [...itemsOf(300, 10), ...Array.from({ length: 5 }, (_, at) => itemOf(`large${at}`, 900_000))];
    const refused: number[] = [];
    const read = async ({ skip, take }: { skip: number; take: number }, isSmallest: boolean) => {
      const part = items.slice(skip, skip + take);
      if (isSmallest || part.reduce((sum, { text }) => sum + text.length, 0) < 1_000_000) return part;
      refused.push(part.length);
      throw new DomainError("answer.too_large", "It is too large.");
    };
    expect(await answered(await longList(read, {}, known()))).toEqual(items);
    expect(refused.length).toBeGreaterThan(0);
  });

  test("breaks off when it cannot be read any further", async () => {
    let reads = 0;
    const read = async ({ skip, take }: { skip: number; take: number }) => {
      if (++reads > 2) throw new Error("away");
      return itemsOf(1000).slice(skip, skip + take);
    };
    await expect(longList(read, {}, known()).then(answered)).rejects.toThrow("away");
  });
});
