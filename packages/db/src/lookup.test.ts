import { DomainError } from "@berth/core";
import { testDatabase } from "@berth/testing";
import { expect, it, vi } from "vitest";
import { isAnyOf, lookup } from "./lookup.ts";

async function settings() {
  const { database, close } = await testDatabase();
  const { kysely } = database;
  const write = (key: string, value: string) => kysely.insertInto("setting").values({ key, value }).execute();
  const find = lookup(
    (db, keys) => db.selectFrom("setting").selectAll().where(isAnyOf("key", keys)),
    ({ key }) => key,
  );
  const statements = vi.spyOn(kysely, "executeQuery");
  return { kysely, write, find, statements, close };
}

it("reads in one statement what is asked for at once", async () => {
  const { kysely, write, find, statements, close } = await settings();
  await write("one", "1");
  await write("two", "2");
  const found = await Promise.all(["two", "one", "none", "two"].map((key) => find(kysely, key)));
  expect(found.map((row) => row?.value)).toEqual([2, 1, undefined, 2]);
  expect(statements).toHaveBeenCalledTimes(1);
  await close();
});

it("reads after it was asked, also while an earlier statement runs", async () => {
  const { kysely, write, find, close } = await settings();
  const before = find(kysely, "one");
  expect(await before).toBeUndefined();
  const running = find(kysely, "other");
  await write("one", "1");
  expect(await find(kysely, "one")).toMatchObject({ value: 1 });
  await running;
  await close();
});

it("reads in a transaction what it has written itself", async () => {
  const { kysely, find, close } = await settings();
  await kysely.transaction().execute(async (tx) => {
    await tx.insertInto("setting").values({ key: "one", value: "1" }).execute();
    expect(await find(tx, "one")).toMatchObject({ value: 1 });
    expect(await find(kysely, "one")).toBeUndefined();
  });
  await close();
});

it("asks for each by itself when the shared statement fails", async () => {
  const { kysely, write, find, statements, close } = await settings();
  await write("one", "1");
  statements.mockRejectedValueOnce(new DomainError("answer.too_large", "Too large."));
  const found = await Promise.all(["one", "two"].map((key) => find(kysely, key)));
  expect(found.map((row) => row?.value)).toEqual([1, undefined]);
  expect(statements).toHaveBeenCalledTimes(3);
  await close();
});

it("refuses a query with a value that would stay the one of the first call", async () => {
  const { database, close } = await testDatabase();
  const find = lookup(
    (db, keys) => db.selectFrom("team").selectAll().where(isAnyOf("name", keys)).limit(7),
    ({ name }) => name,
  );
  await expect(find(database.kysely, "Root Team")).rejects.toThrow(/not its keys/);
  await close();
});
