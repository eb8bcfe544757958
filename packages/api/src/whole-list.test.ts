import { describe, expect, test } from "vitest";
import { z } from "zod";
import { byteLedger } from "./held-bytes.ts";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { router } from "./trpc.ts";
import { listBounds } from "./whole-list.ts";

const MB = 1024 * 1024;

/** Opens requests of one token, or of the given token. */
function bounds() {
  const ledger = byteLedger();
  const lists = listsOf();
  return {
    open(token = "1") {
      const bytes = ledger({ token, team: "0" });
      return { lists: lists.open(bytes), close: () => bytes.close() };
    },
  };
}

const listsOf = () =>
  listBounds(
    router({
      things: operation({
        ...{ method: "GET", path: "/things", operationId: "list-things", tag: "System", summary: "List" },
        ability: "read",
      } as const)
        .input(z.strictObject(paging))
        .output(z.array(z.object({ uuid: z.string(), text: z.string() })))
        .query(({ ctx }) => [...listed(ctx, { items: [], total: 0 }, {})]),
    }),
  );

/** Returns `count` items of a megabyte, like tRPC. */
const megabytes = (count: number) => async (input: unknown) => {
  const { skip = 0, take = count } = (input ?? {}) as { skip?: number; take?: number };
  const all = Array.from({ length: count }, (_, at) => ({ uuid: `u${at}`, text: "x".repeat(MB) }));
  return { ok: true, data: all.slice(skip, skip + take) };
};

describe("a list that is sent as a whole", () => {
  const asked = { input: undefined, teamId: 0, type: "query" } as const;

  test("is whole, and refused beyond 16 MB", async () => {
    const { lists, close } = bounds().open();
    const { data } = await lists.read("things", asked, megabytes(10));
    expect((data as unknown[]).length).toBe(10);
    close();
    await expect(bounds().open().lists.read("things", asked, megabytes(20))).rejects.toMatchObject({
      code: "answer.too_large",
    });
  });

  test("reads what an overview lists at once, as soon as the size of its items is known", async () => {
    const { lists } = bounds().open();
    let reads = 0;
    const small = async (input: unknown) => {
      reads += 1;
      const { skip = 0, take = 500 } = (input ?? {}) as { skip?: number; take?: number };
      const all = Array.from({ length: 499 }, (_, at) => ({ uuid: `u${at}`, text: "x".repeat(500) }));
      return { ok: true, data: all.slice(skip, skip + take) };
    };
    await lists.read("things", asked, small);
    reads = 0;
    const { data } = await lists.read("things", asked, small);
    expect([(data as unknown[]).length, reads]).toEqual([499, 1]);
  });

  test("waits for others when all of them hold too much, until those are sent", async () => {
    const all = bounds();
    const first = all.open("1");
    await first.lists.read("things", asked, megabytes(15));
    const second = all.open("2");
    await expect(second.lists.read("things", asked, megabytes(12))).rejects.toMatchObject({
      ...{ code: "request.overloaded", retryAfterSeconds: 1 },
    });
    first.close();
    second.close();
    expect(await all.open().lists.read("things", asked, megabytes(12))).toMatchObject({ ok: true });
  });

  test("holds nothing once its client has gone, though it is still being read", async () => {
    const all = bounds();
    const gone = all.open();
    gone.close();
    await expect(gone.lists.read("things", asked, megabytes(15))).rejects.toMatchObject({ code: "request.malformed" });
    const [one, other] = [all.open("1"), all.open("2")];
    await one.lists.read("things", asked, megabytes(11));
    expect(await other.lists.read("things", asked, megabytes(11))).toMatchObject({ ok: true });
  });

  test("is the failure of its operation where that fails, and what is not a list is counted too", async () => {
    const { lists } = bounds().open();
    const failure = { ok: false, error: "no" };
    expect(await lists.read("things", asked, async () => failure)).toBe(failure);
    const large = async () => ({ ok: true, data: "x".repeat(20 * MB) });
    await expect(lists.read("other", asked, large)).rejects.toMatchObject({ code: "answer.too_large" });
    // The change must be reported.
    expect(await lists.read("other", { ...asked, type: "mutation" }, large)).toMatchObject({ ok: true });
  });
});
