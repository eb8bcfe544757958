import { testDatabase } from "@berth/testing";
import { expect, it, vi } from "vitest";
import { sharedRead } from "./shared-read.ts";

async function values() {
  const { database, close } = await testDatabase();
  const { kysely } = database;
  const write = (key: string) => kysely.insertInto("setting").values({ key, value: "1" }).execute();
  const share = sharedRead<readonly string[]>();
  const read = vi.fn(async () => {
    const rows = await kysely.selectFrom("setting").select("key").orderBy("key").execute();
    return rows.map(({ key }) => key);
  });
  const shared = (key = "all") => share(kysely, key, read);
  return { kysely, write, share, read, shared, close };
}

it("reads once for all who ask at once for the same", async () => {
  const { read, shared, close } = await values();
  await Promise.all([shared(), shared(), shared("other"), shared()]);
  expect(read).toHaveBeenCalledTimes(2);
  await close();
});

it("reads after it was asked, also while an earlier read runs", async () => {
  const { write, read, shared, close } = await values();
  const before = shared();
  await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1));
  await write("later");
  expect(await shared()).toContain("later");
  await before;
  await close();
});

it("reads in a transaction what it has written itself", async () => {
  const { kysely, share, shared, close } = await values();
  const outside = shared();
  const tx = await kysely.startTransaction().execute();
  await tx.insertInto("setting").values({ key: "own", value: "1" }).execute();
  const read = async () => (await tx.selectFrom("setting").select("key").execute()).map(({ key }) => key);
  expect(await share(tx, "all", read)).toContain("own");
  // The read outside may run after the transaction, whose write it must not see then either.
  await tx.rollback().execute();
  expect(await outside).not.toContain("own");
  await close();
});

it("fails only for the one whose read failed", async () => {
  const { read, shared, close } = await values();
  read.mockRejectedValueOnce(new Error("Too large."));
  const results = await Promise.allSettled([shared(), shared(), shared()]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(read).toHaveBeenCalledTimes(3);
  await close();
});
