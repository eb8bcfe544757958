import { type CutMoment, type Relay, relay, testDatabase, testPostgres, until } from "@berth/testing";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "./client.ts";
import { BEGIN, commitOutcome, type TransactionId } from "./commit.ts";
import { inTransaction } from "./context.ts";
import { embeddedFolders, startEmbeddedPostgres } from "./embedded/embedded-postgres.ts";
import { dataFolders } from "./embedded/folder.fixture.ts";

const isCommit = (sent: Buffer) => sent.includes("commit\0");
const BEFORE: CutMoment = { matches: isCommit, isPassedOn: false };
const UNHEARD: CutMoment = { matches: isCommit, isPassedOn: false, leavesServer: true };
const ANSWERED: CutMoment = { matches: isCommit, isPassedOn: true };

describe("a connection that breaks during COMMIT", () => {
  let database: Database;
  let way: Relay;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    const target = await testDatabase();
    const { port, password } = testPostgres();
    way = await relay({ host: "127.0.0.1", port });
    const url = `postgres://berth:${password}@127.0.0.1:${way.port}${new URL(target.url).pathname}`;
    database = await openDatabase({ url, connectionsMax: 2 });
    await sql`create table counter (value int)`.execute(database.kysely);
    remove = async () => {
      await database.close();
      await way.close();
      await target.close();
    };
  });
  afterAll(() => remove?.());
  beforeEach(async () => {
    await sql`truncate counter`.execute(database.kysely);
    await sql`insert into counter values (0)`.execute(database.kysely);
  });

  const counted = async () => {
    const { rows } = await sql<{ value: number }>`select value from counter`.execute(database.kysely);
    return rows[0]?.value;
  };
  /** How often the work ran. */
  async function count(): Promise<number> {
    let runs = 0;
    await inTransaction({ database, db: database.kysely, pending: undefined, cipher: neverUsed }, async ({ db }) => {
      runs += 1;
      await sql`update counter set value = value + 1`.execute(db);
    });
    return runs;
  }

  it("is a success when only the answer is lost", async () => {
    const cut = way.cutAt(ANSWERED);
    expect(await count()).toBe(1);
    await cut;
    expect(await counted()).toBe(1);
  });

  it.each([
    ["COMMIT did not arrive", BEFORE],
    ["COMMIT did not arrive and the server waits for it", UNHEARD],
  ])("runs the work again when %s", async (_, moment) => {
    const cut = way.cutAt(moment);
    expect(await count()).toBe(2);
    await cut;
    expect(await counted()).toBe(1);
  });

  it("is refused when it happens at every attempt, and nothing was written", async () => {
    const cuts = Array.from({ length: 5 }, () => way.cutAt({ ...BEFORE }));
    await expect(count()).rejects.toMatchObject({ code: "database.unavailable", retryAfterSeconds: 1 });
    await Promise.all(cuts);
    expect(await counted()).toBe(0);
  });

  it("says that the outcome is unknown when the database does not answer any more", async () => {
    const cut = way.cutAt(ANSWERED).then(() => way.hold());
    await expect(count()).rejects.toMatchObject({ message: expect.stringMatching(/whether it did is unknown/) });
    await cut;
    way.letGo();
    expect(await until(() => counted().catch(() => undefined))).toBe(1);
  });
});

describe("a transaction whose server crashed", () => {
  const newFolder = dataFolders();

  it("is unknown when it may be another's id, and not committed when no commit has that id", async () => {
    const server = await startEmbeddedPostgres(embeddedFolders(await newFolder()));
    if (server === undefined) throw new Error("The PostgreSQL programs do not run here: tests need them.");
    const clients = [new pg.Client(server.connection), new pg.Client(server.connection)] as const;
    const ids: TransactionId[] = [];
    for (const client of clients) {
      client.on("error", () => undefined);
      await client.connect();
      // For several statements the library returns an array, unlike its types say.
      const [, { rows }] = (await client.query(BEGIN)) as unknown as [pg.QueryResult, pg.QueryResult];
      ids.push(rows[0]);
    }
    const [committed, open] = ids as [TransactionId, TransactionId];
    await clients[0].query("create table made (value int); commit");
    expect(await commitOutcome(server.connection, committed)).toBe("committed");
    process.kill(open.backendPid, "SIGKILL");
    await until(() => commitOutcome(server.connection, committed).then((outcome) => outcome === "unknown"));
    expect(await commitOutcome(server.connection, open)).toBe("not committed");
    await server.stop();
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
