import { type Relay, relay, testDatabase, testPostgres, until } from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "./client.ts";

describe("a database that hangs", () => {
  let database: Database;
  let way: Relay;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const target = await testDatabase();
    const { port, password } = testPostgres();
    way = await relay({ host: "127.0.0.1", port });
    const url = `postgres://berth:${password}@127.0.0.1:${way.port}${new URL(target.url).pathname}`;
    database = await openDatabase({ url, connectionsMax: 3 });
    close = async () => {
      await database.close();
      await way.close();
      await target.close();
    };
  });
  afterAll(() => close?.());

  const read = () => sql`select 1`.execute(database.kysely);
  const unavailable = { code: "database.unavailable", retryAfterSeconds: 1 };

  it("is given up for all who wait, is refused at once then, and is there again as soon as it answers", async () => {
    await read();
    way.hold();
    const waiting = await Promise.allSettled(Array.from({ length: 30 }, read));
    expect(waiting.map(({ status }) => status)).toEqual(Array(30).fill("rejected"));
    for (const one of waiting) expect(one).toMatchObject({ reason: unavailable });
    // Fails at once without sending a statement, since the database is known to be unavailable.
    await expect(read()).rejects.toMatchObject(unavailable);
    way.letGo();
    await until(() =>
      read().then(
        () => true,
        () => false,
      ),
    );
    expect((await Promise.all(Array.from({ length: 30 }, read))).length).toBe(30);
  });

  it("is not one that works on a long statement while others wait their turn", async () => {
    const long = Array.from({ length: 3 }, () => sql`select pg_sleep(4)`.execute(database.kysely));
    const [short] = await Promise.all([read(), ...long]);
    expect(short.rows).toHaveLength(1);
  });
});
