import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BackupWorld, backupWorld, type RunningDatabase } from "./backup.fixture.ts";

const MANY =
  "create table if not exists many as select i, md5(random()::text) as a, md5(random()::text) as b from generate_series(1, 600000) i";

describeDocker("backups of PostgreSQL", ["postgres:17-alpine"], (fixture) => {
  let world: BackupWorld;
  let shop: RunningDatabase;
  beforeAll(async () => {
    world = await backupWorld(fixture);
    shop = await world.database("postgresql", { postgres_db: "shop" });
    await shop.sql(
      "create table orders (id int primary key, what text); create schema s; create table s.notes (n int)",
    );
    await shop.sql(
      "insert into orders select i, 'order ' || i from generate_series(1, 100) i; insert into s.notes values (1)",
    );
  });
  afterAll(() => world?.close());

  const S3 = { save_s3: true } as const;
  const keyOf = (uuid: string) => world.s3.objects().find((key) => key.includes(uuid)) ?? "";

  test("are kept here and in the bucket, proved by a drill, and bring back what was deleted", async () => {
    const schedule = await shop.schedule(S3);
    const backup = await shop.run(schedule);
    expect(backup).toMatchObject({ status: "success", message: null, s3_uploaded: true, local_storage_deleted: false });
    expect(statSync(backup.filename ?? "").size).toBe(backup.size_bytes);
    expect(statSync(backup.filename ?? "").mode & 0o777).toBe(0o600);
    expect(keyOf(backup.uuid)).toContain(shop.record.uuid);

    const tables = [
      { name: "public.orders", rows: 100, expected_rows: 100 },
      { name: "s.notes", rows: 1, expected_rows: 1 },
    ];
    expect(await shop.restore("drill", backup)).toMatchObject({ status: "success", message: null, tables });
    expect((await world.engine.list()).map(({ resourceUuid }) => resourceUuid)).toEqual([shop.record.uuid]);

    await shop.sql("delete from orders; drop table s.notes; create table later (n int)");
    expect(await shop.restore("restore", backup)).toMatchObject({ status: "success", message: null });
    expect(await shop.sql("select count(*), min(what) from orders")).toBe("100|order 1");
    expect(await shop.sql("select count(*) from s.notes")).toBe("1");
  });

  test("go into another database of the engine", async () => {
    const other = await world.database("postgresql", { postgres_db: "copy" });
    const backup = await shop.run(await shop.schedule());
    expect(await shop.restore("restore", backup, other.record, "copy")).toMatchObject({ status: "success" });
    expect(await other.sql("select count(*) from orders")).toBe("100");
    expect(await shop.restore("restore", backup, other.record, "missing")).toMatchObject({
      status: "failed",
      message: expect.stringContaining('database "missing" does not exist'),
    });
  });

  test("of all databases have them all, and are restored over what is there", async () => {
    await shop.sql("create database second");
    const backup = await shop.run(await shop.schedule({ dump_all: true }));
    expect(backup).toMatchObject({ status: "success", database_name: null });
    await shop.sql("delete from orders");
    await shop.sql("drop database second");
    const restored = await shop.restore("restore", backup);
    expect(restored).toMatchObject({ status: "success", message: null });
    expect(restored.tables).toContainEqual({ name: "shop.public.orders", rows: 100, expected_rows: 100 });
    expect(await shop.sql("select count(*) from pg_database where datname = 'second'")).toBe("1");
    expect(await shop.restore("drill", backup)).toMatchObject({ status: "success" });

    // Clients that reconnect at once do not prevent the replacement.
    const clients = ["shop", "postgres", "template1", "second"].map((name) =>
      shop
        .script(
          `for n in 1 2; do (until [ -e /tmp/enough ]; do psql -q -U postgres -d ${name} -c 'select pg_sleep(9)'; done) & done; wait`,
        )
        .catch(() => undefined),
    );
    await shop.sql("delete from orders");
    expect(await shop.restore("restore", backup)).toMatchObject({ status: "success", message: null });
    expect(await shop.sql("select count(*) from orders")).toBe("100");
    expect(await shop.sql("select string_agg(datname, ' ') from pg_database where not datallowconn")).toBe("template0");
    await shop.script(
      `touch /tmp/enough; psql -q -U postgres -c "select pg_terminate_backend(pid) from pg_stat_activity where query ~ '^select pg_sleep'"`,
    );
    await Promise.all(clients);

    const other = await world.database("postgresql", { postgres_db: "empty" });
    expect(await shop.restore("restore", backup, other.record)).toMatchObject({ status: "success", message: null });
    // Connects by address, where the password is checked: it is still the same.
    expect(await other.sql("select count(*) from pg_database where datname = 'second'", other.record.uuid)).toBe("1");
  });

  test("are refused when a byte of them has changed: nothing is restored, and a drill fails", async () => {
    const backup = await shop.run(await shop.schedule({ ...S3, disable_local_backup: true }));
    expect(backup).toMatchObject({ status: "success", local_storage_deleted: true });
    expect(existsSync(backup.filename ?? "")).toBe(false);
    world.s3.flipByte(keyOf(backup.uuid));
    await shop.sql("delete from orders where id > 50");
    for (const kind of ["restore", "drill"] as const) {
      expect(await shop.restore(kind, backup)).toMatchObject({
        status: "failed",
        message: expect.stringContaining("The object in the S3 storage is damaged"),
        tables: null,
      });
    }
    expect(await shop.sql("select count(*) from orders")).toBe("50");
    await shop.sql("insert into orders select i, 'order ' || i from generate_series(51, 100) i");
  });

  test("are no success, and not restored, when the bucket gives back more than was sent to it", async () => {
    const backup = await shop.run(await shop.schedule({ ...S3, disable_local_backup: true }));
    const { tools } = world;
    let givenBytes = 0;
    async function* endless() {
      for (const piece = Buffer.alloc(65_536); ; givenBytes += piece.length) yield piece;
    }
    world.tools = {
      ...tools,
      objectStorage: (storage, login) => ({ ...tools.objectStorage(storage, login), get: endless }),
    };
    try {
      const message = expect.stringContaining("returns more than the");
      expect(await shop.restore("restore", backup)).toMatchObject({ status: "failed", message, tables: null });
      expect(await shop.run(await shop.schedule(S3))).toMatchObject({ s3_uploaded: false, message });
    } finally {
      world.tools = tools;
    }
    expect(givenBytes).toBeLessThan(10_000_000);
    expect(await shop.sql("select count(*) from orders")).toBe("100");
  });

  test("with one damaged copy are restored from the other, and the drill tells", async () => {
    const backup = await shop.run(await shop.schedule(S3));
    const path = backup.filename ?? "";
    const content = readFileSync(path);
    content[200] = (content[200] ?? 0) ^ 1;
    writeFileSync(path, content);
    const damaged = expect.stringContaining("The file on the server is damaged");
    expect(await shop.restore("restore", backup)).toMatchObject({ status: "success", message: damaged });
    expect(await shop.restore("drill", backup)).toMatchObject({ status: "failed", message: damaged });
  });

  test("are no success when the bucket gives back something else, and the object goes", async () => {
    const { tools } = world;
    world.tools = {
      ...tools,
      objectStorage: (storage, login) => {
        const far = tools.objectStorage(storage, login);
        return {
          ...far,
          async put(...sent) {
            await far.put(...sent);
            world.s3.flipByte(sent[0]);
          },
        };
      },
    };
    const backup = await shop.run(await shop.schedule(S3));
    world.tools = tools;
    expect(backup).toMatchObject({
      status: "failed",
      message: expect.stringContaining("the checksum differs"),
      s3_uploaded: false,
    });
    await until(() => keyOf(backup.uuid) === "", { what: "the object goes" });
  });

  test("fail for a bucket that is not there, and keep the file", async () => {
    const backup = await shop.run(await shop.schedule(S3, "no-such-bucket"));
    expect(backup).toMatchObject({
      ...{ status: "failed", s3_uploaded: false, local_storage_deleted: false },
      message: expect.stringMatching(/has no bucket no-such-bucket.*\nThe file on the server is complete/),
    });
    expect(await shop.restore("restore", backup)).toMatchObject({ status: "success" });
  });

  test("fail for a database that is not there, with what the program said and no secret", async () => {
    const backup = await shop.run(await shop.schedule({ databases_to_backup: "nothing" }));
    expect(backup).toMatchObject({
      ...{ status: "failed", size_bytes: null, local_storage_deleted: true },
      message: expect.stringMatching(/^pg_dump exited with code 1\.\n.*"nothing" does not exist/s),
    });
    expect(existsSync(backup.filename ?? "")).toBe(false);
  });

  test("fail when the dump is killed, and leave no file", async () => {
    await shop.sql(MANY);
    const schedule = await shop.schedule();
    const { uuid } = await shop.begin(schedule);
    await until(async () => (await shop.script("kill -9 $(pidof pg_dump) && echo killed || true")) === "killed", {
      what: "the dump runs",
      seconds: 30,
    });
    const backup = await shop.ended(schedule, uuid);
    expect(backup).toMatchObject({
      status: "failed",
      message: expect.stringContaining("pg_dump exited with code 137"),
    });
    expect(execFileSync("ls", [dirname(backup.filename ?? "")]).toString()).not.toContain(uuid);
  });

  test.runIf(process.getuid?.() === 0)("fail when the disk is full, and leave no file", async () => {
    const { backupFiles } = await import("@berth/backup");
    const { tools } = world;
    const folder = `${world.folder}/small`;
    execFileSync("mkdir", [folder]);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]);
    try {
      world.tools = { ...tools, files: backupFiles(folder) };
      const backup = await shop.run(await shop.schedule());
      expect(backup).toMatchObject({
        status: "failed",
        message: expect.stringContaining("disk with the backups is full"),
      });
      expect(execFileSync("find", [folder, "-type", "f"]).toString().trim()).toBe(`${folder}/folder-id`);
    } finally {
      world.tools = tools;
      execFileSync("umount", [folder]);
      await shop.sql("drop table many");
    }
  });

  test("beyond what is to be kept go, here and in the bucket", async () => {
    const schedule = await shop.schedule({
      ...{ save_s3: true, database_backup_retention_amount_locally: 1, database_backup_retention_amount_s3: 2 },
    });
    const made = [await shop.run(schedule), await shop.run(schedule), await shop.run(schedule)];
    const isThere = ({ filename, uuid }: (typeof made)[number]) => [existsSync(filename ?? ""), keyOf(uuid) !== ""];
    await until(() => !isThere(made[0] as (typeof made)[number]).includes(true), { what: "the old ones are gone" });
    expect(made.map(isThere)).toEqual([
      [false, false],
      [false, true],
      [true, true],
    ]);
    expect(await shop.ended(schedule, made[1]?.uuid ?? "")).toMatchObject({
      ...{ status: "success", local_storage_deleted: true, s3_storage_deleted: false },
    });
  });
});

describeDocker("backups of MariaDB", ["mariadb:11"], (fixture) => {
  let world: BackupWorld;
  let shop: RunningDatabase;
  beforeAll(async () => {
    world = await backupWorld(fixture);
    shop = await world.database("mariadb", { mariadb_database: "shop" });
    await shop.sql("create table `odd ``name` (id int); insert into `odd ``name` values (1), (2)");
  });
  afterAll(() => world?.close());

  test("of all databases leave another database its own passwords", async () => {
    const backup = await shop.run(await shop.schedule({ dump_all: true }));
    const other = await world.database("mariadb", { mariadb_database: "empty" });
    expect(await shop.restore("restore", backup, other.record)).toMatchObject({ status: "success", message: null });
    // Reloads the passwords, as a restart would.
    await other.sql("flush privileges");
    expect(await other.sql("select count(*) from shop.`odd ``name`", other.record.uuid)).toBe("2");
    expect(await shop.sql("select 1", shop.record.uuid)).toBe("1");
  });

  test.each([{ dump_all: false }, { dump_all: true }])("are proved and restored with %j", async (settings) => {
    const backup = await shop.run(await shop.schedule(settings));
    expect(backup).toMatchObject({ status: "success", message: null });
    expect(readFileSync(backup.filename ?? "").subarray(0, 2)).toEqual(Buffer.from([0x1f, 0x8b]));
    const name = settings.dump_all ? "shop.odd `name" : "odd `name";
    const tables = [{ name, rows: 2, expected_rows: 2 }];
    expect(await shop.restore("drill", backup)).toMatchObject({ status: "success", message: null, tables });
    await shop.sql("delete from `odd ``name`");
    expect(await shop.restore("restore", backup)).toMatchObject({ status: "success", tables });
    expect(await shop.sql("select count(*) from `odd ``name`")).toBe("2");
  });
});
