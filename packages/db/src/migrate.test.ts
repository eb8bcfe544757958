import { randomBytes } from "node:crypto";
import { testDatabase, testPostgres } from "@berth/testing";
import { sql } from "kysely";
import { Migrator } from "kysely/migration";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { openDatabase } from "./client.ts";
import { migrate } from "./migrate.ts";
import { MIGRATIONS } from "./migrations/index.ts";
import { authenticator } from "./token.ts";

/** An empty database on the server of the run. */
async function withEmptyDatabase(work: (url: string) => Promise<void>): Promise<void> {
  const { port, password } = testPostgres();
  const name = `empty_${randomBytes(6).toString("hex")}`;
  const urlOf = (database: string) => `postgres://berth:${password}@127.0.0.1:${port}/${database}`;
  const admin = new pg.Client({ connectionString: urlOf("berth") });
  await admin.connect();
  try {
    await admin.query(`create database ${name}`);
    await work(urlOf(name));
  } finally {
    await admin.query(`drop database if exists ${name} with (force)`);
    await admin.end();
  }
}

describe("migrations", () => {
  it("are applied once by several control planes that start at the same time", async () => {
    await withEmptyDatabase(async (url) => {
      const replicas = await Promise.all(Array.from({ length: 5 }, () => openDatabase({ url, connectionsMax: 3 })));
      await Promise.all(replicas.map(migrate));
      for (const { kysely } of replicas) {
        expect(await kysely.selectFrom("team").select("id").execute()).toEqual([{ id: 0 }]);
      }
      await Promise.all(replicas.map((replica) => replica.close()));
    });
  });

  it("may be applied again without changing anything", async () => {
    const { database, close } = await testDatabase();
    await migrate(database);
    await migrate(database);
    expect(await database.kysely.selectFrom("team").select("id").execute()).toEqual([{ id: 0 }]);
    await close();
  });

  it("make the instance's own user the owner of teams and tokens from before there were users", async () => {
    await withEmptyDatabase(async (url) => {
      const database = await openDatabase({ url });
      const migrator = new Migrator({
        db: database.kysely,
        provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
        migrationTableName: "migration",
        migrationLockTableName: "migration_lock",
      });
      expect((await migrator.migrateTo("0002-kinds")).error).toBeUndefined();
      await sql`insert into team (id, name) values (7, 'Shop')`.execute(database.kysely);
      await sql`insert into token (team_id, name, abilities, hash) values (7, 'CI', '["read"]', 'abc')`.execute(
        database.kysely,
      );
      await migrate(database);
      expect(await authenticator(database).findToken("abc")).toMatchObject({ team_id: 7, user_id: 0, role: "owner" });
      await database.close();
    });
  });

  it("refuse a database that a newer version has used", async () => {
    const { database, close } = await testDatabase();
    await sql`insert into migration (name, timestamp) values ('9999-future', '2099-01-01')`.execute(database.kysely);
    await expect(migrate(database)).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringMatching(/newer Berth \(it has 9999-future\)\. Start that version/),
    });
    await close();
  });

  it("say that the user may not create tables", async () => {
    await withEmptyDatabase(async (url) => {
      const database = await openDatabase({ url });
      await sql`alter schema public owner to berth`.execute(database.kysely);
      await sql`revoke create on schema public from berth`.execute(database.kysely);
      await sql`revoke create on schema public from public`.execute(database.kysely);
      await expect(migrate(database)).rejects.toMatchObject({
        code: "setup.failed",
        message: expect.stringContaining("may not create tables"),
      });
      await database.close();
    });
  });
});
