import { type CutMoment, type Relay, relay, testDatabase, testPostgres, until } from "@berth/testing";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "./client.ts";
import { inTransaction } from "./context.ts";

const CUTS = 100;
/** The pause before the next attempt to listen grows with each failure. */
const CUTS_WHILE_LISTENING_BEGINS = 3;
/** More than there are connections, so that some always wait for one. */
const WRITERS = 10;
const CONNECTIONS = 4;

const sends = (text: string) => (sent: Buffer) => sent.includes(text);
const MOMENTS: Readonly<Record<string, CutMoment>> = {
  "logs in": { matches: sends("user\0"), isPassedOn: true },
  "begins a transaction": { matches: sends("begin;"), isPassedOn: false },
  "hears that it began": { matches: sends("begin;"), isPassedOn: true },
  "sends a statement": { matches: sends("berth_"), isPassedOn: false },
  "waits for a statement": { matches: sends("berth_"), isPassedOn: true },
  "sends COMMIT": { matches: sends("commit\0"), isPassedOn: false },
  "sends COMMIT, and the server does not hear of it": {
    ...{ matches: sends("commit\0"), isPassedOn: false, leavesServer: true },
  },
  "waits for COMMIT": { matches: sends("commit\0"), isPassedOn: true },
};
const LISTENING: readonly CutMoment[] = [
  { matches: sends("listen "), isPassedOn: false },
  { matches: sends("listen "), isPassedOn: true },
];

describe(`a database that is cut ${CUTS} times at each moment under load`, () => {
  let database: Database;
  let way: Relay;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const target = await testDatabase();
    const { port, password } = testPostgres();
    way = await relay({ host: "127.0.0.1", port });
    const url = `postgres://berth:${password}@127.0.0.1:${way.port}${new URL(target.url).pathname}`;
    database = await openDatabase({ url, connectionsMax: CONNECTIONS });
    await sql`create table written (value int)`.execute(database.kysely);
    remove = async () => {
      await database.close();
      await way.close();
      await target.close();
    };
  });
  afterAll(() => remove?.());

  it("writes what it acknowledged once, what it refused never, and hears notifications again", async () => {
    let heard = 0;
    await database.listen("test_channel", (payload) => {
      if (payload === "after") heard += 1;
    });
    const acknowledged: number[] = [];
    const refused: number[] = [];
    const causes = new Set<unknown>();
    let next = 0;
    let isOn = true;
    const context = { database, db: database.kysely, pending: undefined, cipher: neverUsed };
    const writer = async () => {
      while (isOn) {
        // Errors that come at once would otherwise block the event loop.
        await new Promise((resolve) => setImmediate(resolve));
        const value = next++;
        const write = inTransaction(context, async ({ db }) => {
          await sql`insert into written values (${value})`.execute(db);
        });
        await write.then(
          () => acknowledged.push(value),
          (cause) => refused.push(value) && causes.add(cause.code),
        );
      }
    };
    const writers = Array.from({ length: WRITERS }, writer);
    const cutAt = async (moment: CutMoment, times: number) => {
      for (let round = 0; round < times; round += 1) await way.cutAt({ ...moment });
    };
    /** Including connections that listen and idle ones. */
    const cutAll = async () => {
      for (let round = 0; round < CUTS; round += 1) {
        const before = acknowledged.length;
        way.cut();
        await until(() => acknowledged.length > before);
      }
    };
    await Promise.all([
      ...Object.values(MOMENTS).map((moment) => cutAt(moment, CUTS)),
      ...LISTENING.map((moment) => cutAt(moment, CUTS_WHILE_LISTENING_BEGINS)),
      cutAll(),
    ]);
    isOn = false;
    await Promise.all(writers);

    const { rows } = await until(() =>
      sql<{ value: number }>`select value from written order by value`.execute(database.kysely).catch(() => undefined),
    );
    expect(rows.map(({ value }) => value)).toEqual(acknowledged.sort((a, b) => a - b));
    expect(refused.length).toBeGreaterThan(0);
    expect([...causes]).toEqual(["database.unavailable"]);
    await until(async () => {
      await sql`select pg_notify('test_channel', 'after')`.execute(database.kysely);
      return heard > 0;
    });
  });
});

const neverUsed = {
  newestVersion: 1,
  seal: () => {
    throw new Error("not used here");
  },
  open: () => {
    throw new Error("not used here");
  },
};
