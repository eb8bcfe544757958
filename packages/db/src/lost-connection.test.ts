import { type Relay, relay, testDatabase, testPostgres, until } from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "./client.ts";

const ROUNDS = 100;
const WRITERS = 4;

describe("a database whose connections are cut", () => {
  let database: Database;
  let way: Relay;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const target = await testDatabase();
    way = await relay({ host: "127.0.0.1", port: testPostgres().port });
    const url = new URL(target.url);
    const { password } = testPostgres();
    database = await openDatabase({
      url: `postgres://berth:${password}@127.0.0.1:${way.port}${url.pathname}`,
      connectionsMax: WRITERS,
    });
    await sql`create table written (value int primary key)`.execute(database.kysely);
    remove = async () => {
      await database.close();
      await way.close();
      await target.close();
    };
  });
  afterAll(() => remove());

  it("reports it to the transaction that was between two statements, and works again", async () => {
    const cut = database.kysely.transaction().execute(async (tx) => {
      await sql`select 1`.execute(tx);
      way.cut();
      // Now the reset has closed all connections.
      await new Promise((resolve) => setImmediate(resolve));
      await sql`select pg_sleep(0.05)`.execute(tx);
    });
    await expect(cut).rejects.toMatchObject({ code: "database.unavailable" });
    await expect
      .poll(() =>
        sql`select 1`.execute(database.kysely).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
  });

  it("loses nothing that was acknowledged, whenever it happens", async () => {
    const emptied = () => sql`truncate written`.execute(database.kysely);
    await until(() => emptied().catch(() => undefined));
    const acknowledged: number[] = [];
    const refused: unknown[] = [];
    let next = 0;
    let isOn = true;
    const writer = async () => {
      while (isOn) {
        const value = next++;
        await database.kysely
          .transaction()
          .execute(async (tx) => {
            await sql`select count(*) from written where value = ${value}`.execute(tx);
            await sql`insert into written values (${value})`.execute(tx);
          })
          .then(
            () => acknowledged.push(value),
            (cause: unknown) => refused.push(cause),
          );
      }
    };
    const writers = Array.from({ length: WRITERS }, writer);
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = acknowledged.length;
      // At a random point of the writers' work: each round cuts after another number of turns of the event loop.
      await expect.poll(() => acknowledged.length, { interval: 1 }).toBeGreaterThan(before);
      for (let turn = 0; turn < round % 7; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      way.cut();
    }
    isOn = false;
    await Promise.all(writers);
    // The pool may still have a connection whose end, by the last cut, was not noticed yet.
    const { rows } = await until(() =>
      sql<{ value: number }>`select value from written`.execute(database.kysely).catch(() => undefined),
    );
    const written = new Set(rows.map(({ value }) => value));
    expect(acknowledged.filter((value) => !written.has(value))).toEqual([]);
    expect(refused.length).toBeGreaterThan(0);
    for (const cause of refused) expect(cause).toMatchObject({ code: "database.unavailable" });
  });
});
