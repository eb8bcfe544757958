import { type TestDatabase, testDatabase } from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { limitReads } from "./read-limit.ts";

const MB = 1024 ** 2;

describe("reads with a limit", () => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await testDatabase();
  });
  afterAll(() => db.close());

  const read = async (megabytes: number) => {
    const { rows } = await sql<{ text: string }>`
      select repeat('x', ${MB}::int) as text from generate_series(1, ${megabytes}::int)`.execute(db.database.kysely);
    return rows.length;
  };

  test("return what is within it, and refuse what is not", async () => {
    expect(await limitReads(2 * MB, () => read(2))).toBe(2);
    await expect(limitReads(2 * MB, () => read(3))).rejects.toMatchObject({
      code: "answer.too_large",
      message: expect.stringContaining("more than 2 MB"),
    });
  });

  test("count all statements of the same work, and nobody else's", async () => {
    const both = limitReads(3 * MB, async () => (await read(2)) + (await read(2)));
    const other = limitReads(3 * MB, () => read(2));
    await expect(both).rejects.toMatchObject({ code: "answer.too_large" });
    expect(await other).toBe(2);
    expect(await read(5)).toBe(5);
  });

  test("leave the connection usable after a refusal, in a transaction too", async () => {
    for (let n = 0; n < 20; n += 1) {
      const refused = limitReads(MB, () => db.stores().transaction(() => read(2)));
      await expect(refused).rejects.toMatchObject({ code: "answer.too_large" });
    }
    expect(await read(1)).toBe(1);
  });
});
