import { createServer } from "node:net";
import { testDatabase, testPostgres } from "@berth/testing";
import { sql } from "kysely";
import { afterEach, describe, expect, it } from "vitest";
import { type Database, openDatabase } from "./client.ts";

const PASSWORD = "hunter2";

describe("an address of a database", () => {
  const opened: Database[] = [];
  afterEach(async () => {
    for (const database of opened.splice(0)) await database.close();
  });

  /** The message of the error. */
  async function refusal(url: string): Promise<string> {
    const error = await openDatabase({ url }).then(
      (database) => {
        opened.push(database);
        return undefined;
      },
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: "setup.failed" });
    const { message } = error as Error; // matched above
    expect(message).not.toContain(PASSWORD);
    expect(message).not.toContain("\n");
    return message;
  }

  it("works over TCP with a password", async () => {
    const database = await testDatabase({ backend: "tcp" });
    expect(database.database.kind).toBe("postgres");
    const { rows } = await sql`select inet_server_addr()::text as address`.execute(database.database.kysely);
    expect(rows).toEqual([{ address: "127.0.0.1/32" }]);
    await database.close();
  });

  it("is refused with the reason when it is no address", async () => {
    expect(await refusal(`mysql://berth:${PASSWORD}@localhost/berth`)).toMatch(/does not begin with postgres:\/\//);
    expect(await refusal(`postgres://berth:${PASSWORD}%zz@localhost:port/berth`)).toMatch(/cannot be read/);
  });

  it("is refused with the reason when nothing listens there", async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    await new Promise((resolve) => server.close(resolve));
    expect(await refusal(`postgres://berth:${PASSWORD}@127.0.0.1:${port}/berth`)).toMatch(
      `No PostgreSQL listens at 127.0.0.1:${port}`,
    );
    expect(await refusal("postgres://berth@localhost/berth?host=/nonexistent")).toMatch(/\/nonexistent/);
  });

  it("is refused with the reason when the password, the user or the database is wrong", async () => {
    const { port, password } = testPostgres();
    const at = `127.0.0.1:${port}`;
    expect(await refusal(`postgres://berth:${PASSWORD}@${at}/berth`)).toMatch(/refuses the password of berth/);
    expect(await refusal(`postgres://berth@${at}/berth`)).toMatch(/password/);
    expect(await refusal(`postgres://stranger:${PASSWORD}@${at}/berth`)).toMatch(/does not allow stranger to connect/);
    const missing = await refusal(`postgres://berth:${password}@${at}/missing`);
    expect(missing).toMatch(/database missing does not exist/);
    expect(missing).not.toContain(password);
  });

  it("is refused with the reason when something else answers there", async () => {
    const server = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .resume()
        .end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    );
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    expect(await refusal(`postgres://berth:${PASSWORD}@127.0.0.1:${port}/berth`)).toMatch(/cannot be reached/);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("a database", () => {
  it("reads 64-bit integers as numbers and times as dates", async () => {
    const database = await testDatabase();
    const { rows } = await sql`select 9007199254740991::bigint as id, count(*) as count,
      '2026-01-02 03:04:05.678+00'::timestamptz as "at", '1969-07-20 20:17:40+05:30'::timestamptz as "then"
      from team`.execute(database.database.kysely);
    expect(rows).toEqual([
      {
        id: 9007199254740991,
        count: 1,
        at: new Date("2026-01-02T03:04:05.678Z"),
        // biome-ignore lint/suspicious/noThenProperty: a column of this test
        then: new Date("1969-07-20T14:47:40.000Z"),
      },
    ]);
    await database.close();
  });

  it("answers `database.unavailable` while it cannot be reached, and works again after", async () => {
    const database = await testDatabase({ connectionsMax: 3 });
    const { kysely } = database.database;
    const killAll = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid != pg_backend_pid()`;
    let answer: unknown;
    sql`select pg_sleep(20)`.execute(kysely).catch((error: unknown) => {
      answer = error;
    });
    const killed = async () => {
      await killAll.execute(kysely);
      return answer;
    };
    await expect.poll(killed).toMatchObject({ code: "database.unavailable" });
    expect((await database.stores().teams.list()).total).toBe(1);
    await database.close();
    await expect(database.stores().teams.list()).rejects.toMatchObject({ code: "database.unavailable" });
  });

  it("refuses what it cannot store as the caller's mistake, and its own mistakes without detail", async () => {
    const database = await testDatabase();
    const { projects } = database.stores();
    await expect(projects.insert({ uuid: "a", name: "a\0b", description: null })).rejects.toMatchObject({
      code: "request.invalid",
    });
    const broken = sql`select secret_column from team`.execute(database.database.kysely);
    await expect(broken).rejects.toMatchObject({
      code: "internal.error",
      message: expect.not.stringContaining("secret_column"),
    });
    await database.close();
  });

  it("hears again what is told after its connection was lost, and reports the gap", async () => {
    const database = await testDatabase();
    const { kysely } = database.database;
    const heard: (string | undefined)[] = [];
    await database.database.listen("test_channel", (payload) => heard.push(payload));
    const emit = (payload: string) => sql`select pg_notify('test_channel', ${payload})`.execute(kysely);
    await emit("before");
    await expect.poll(() => heard).toEqual(["before"]);
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'listen%'`.execute(kysely);
    await expect.poll(() => heard).toEqual(["before", undefined]);
    await emit("after");
    await expect.poll(() => heard).toEqual(["before", undefined, "after"]);
    await database.close();
  });
});
