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

  it("let a resource that has a live release get one on another server, but no second one on the same", async () => {
    await withEmptyDatabase(async (url) => {
      const database = await openDatabase({ url });
      const migrator = new Migrator({
        db: database.kysely,
        provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
        migrationTableName: "migration",
        migrationLockTableName: "migration_lock",
      });
      expect((await migrator.migrateTo("0267-request-rates")).error).toBeUndefined();
      // Only the index matters here, not what the rows refer to.
      for (const column of ["deployment", "resource", "server"])
        await sql.raw(`alter table release drop constraint release_${column}_id_fkey`).execute(database.kysely);
      let count = 0;
      const insert = (serverId: number, role: string) =>
        sql`insert into release (deployment_id, deployment_uuid, resource_id, resource_uuid, pull_request_id, server_id,
            role, artifact, built_by)
          values (${++count}::int, 'd', 7, 'app', 0, ${serverId}::int, ${role}::text, '{}', 'd')`.execute(
          database.kysely,
        );
      await insert(1, "live");
      await expect(insert(2, "live")).rejects.toThrow("exists already");
      await migrate(database);
      await insert(2, "live");
      await insert(2, "candidate");
      for (const serverId of [1, 2]) await expect(insert(serverId, "live")).rejects.toThrow("exists already");
      const { rows } = await sql`select server_id, role from release order by deployment_id`.execute(database.kysely);
      expect(rows).toEqual([
        { server_id: 1, role: "live" },
        { server_id: 2, role: "live" },
        { server_id: 2, role: "candidate" },
      ]);
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
