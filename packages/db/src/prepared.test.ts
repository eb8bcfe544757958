import { testDatabase } from "@berth/testing";
import { expect, it } from "vitest";
import { prepared } from "./prepared.ts";

it("runs with the values of each call, used twice or in another order, and is built once", async () => {
  const { database, close } = await testDatabase();
  let builds = 0;
  const find = prepared((db, id: number, name: string) => {
    builds += 1;
    return db.selectFrom("team").select(["id", "name"]).where("name", "=", name).where("id", "in", [id, id]);
  });
  expect(await find(database.kysely, 0, "Root Team")).toEqual({ id: 0, name: "Root Team" });
  expect(await find(database.kysely, 0, "Other")).toBeUndefined();
  expect(await find(database.kysely, 1, "Root Team")).toBeUndefined();
  await database.kysely.transaction().execute(async (db) => {
    expect(await find(db, 0, "Root Team")).toMatchObject({ id: 0 });
  });
  expect(builds).toBe(1);
  await close();
});

it("refuses a query with a value that would stay the one of the first call", async () => {
  const { database, close } = await testDatabase();
  const find = prepared((db, id: number) => db.selectFrom("team").selectAll().where("id", "=", id).limit(7));
  await expect(find(database.kysely, 0)).rejects.toThrow(/no parameter/);
  await close();
});
