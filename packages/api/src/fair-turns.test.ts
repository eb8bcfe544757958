import { describe, expect, test } from "vitest";
import { readBounded } from "./bounded-read.ts";
import { fairTurns } from "./fair-turns.ts";
import { itemSizes, listParts } from "./rest/long-list.ts";

/** Works that end when they are told to, in the order in which they began. */
function works() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    of: (name: string) => () =>
      new Promise<{ ok: true }>((resolve) => {
        begun.push(name);
        ends.push(() => resolve({ ok: true }));
      }),
    /** Ends the oldest work, and lets those that wait begin. */
    async endOne() {
      ends.shift()?.();
      await new Promise(setImmediate);
    },
  };
}

describe("turns", () => {
  test("alternate between teams, however many one team has queued", async () => {
    const { begun, of, endOne } = works();
    const turn = fairTurns(2);
    const all = [1, 1, 1, 1, 1, 2, 3, 2].map((team) => turn(team, of(`${team}`)));
    await new Promise(setImmediate);
    expect(begun).toEqual(["1", "2"]);
    for (let n = 0; n < 8; n += 1) await endOne();
    expect(begun.slice(2, 5).sort()).toEqual(["1", "2", "3"]);
    expect((await Promise.all(all)).length).toBe(8);
  });

  test("are taken by one work of a team at a time, also after one that failed", async () => {
    const { begun, of } = works();
    const turn = fairTurns(2);
    await expect(turn(1, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
    void turn(1, of("first"));
    void turn(1, of("second"));
    await new Promise(setImmediate);
    expect(begun).toEqual(["first"]);
  });
});

describe("a team that reads much does not delay the reads of another one", () => {
  test("of large answers", async () => {
    const { begun, of } = works();
    const large = (teamId: number) =>
      readBounded({ teamId, limitReads: async (_bytes, work) => await work(), isDivisible: false }, of(`${teamId}`));
    for (let n = 0; n < 20; n += 1) void large(1);
    void large(2);
    await new Promise(setImmediate);
    expect(begun).toEqual(["1", "2"]);
  });

  test("of parts of long lists", async () => {
    const { begun, of } = works();
    const items = Array.from({ length: 8 }, (_, id) => ({ id, text: "x".repeat(20_000) }));
    const follow = async (teamId: number) => {
      const part = of(`${teamId}`);
      const isFirst = ({ skip }: { readonly skip: number }) => skip === 0;
      const parts = listParts(
        async (page) => {
          if (!isFirst(page)) await part();
          return items.slice(0, page.take);
        },
        {},
        { list: "a list", teamId, sizes: itemSizes() },
      );
      for await (const _ of parts);
    };
    for (let n = 0; n < 20; n += 1) void follow(1);
    void follow(2);
    await new Promise(setImmediate);
    expect(begun).toEqual(["1", "2"]);
  });
});
