import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "kysely";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { openDatabase } from "../client.ts";
import { migrate } from "../migrate.ts";
import { startChild } from "./child.fixture.ts";
import { dataFolders, isRootUser, runningServer } from "./folder.fixture.ts";

const NOBODY = 65534;

describe("the embedded PostgreSQL", () => {
  const newFolder = dataFolders();

  it("starts on an empty folder, keeps what was written, and ends with us", async () => {
    const folder = await newFolder();
    const first = await openDatabase({ dataFolder: folder });
    expect(first.kind).toBe("embedded-postgres");
    await migrate(first);
    await first.kysely.insertInto("lease").values({ name: "kept", owner: "x", expires_at: new Date() }).execute();
    await first.close();
    await first.close();
    expect(await runningServer(folder)).toBeUndefined();

    const second = await openDatabase({ dataFolder: folder });
    await migrate(second);
    expect(await second.kysely.selectFrom("lease").select("name").execute()).toEqual([{ name: "kept" }]);
    await second.close();
  });

  it("is closed to everyone else: a folder of its own, no port, no login without being asked", async () => {
    const folder = await newFolder();
    const database = await openDatabase({ dataFolder: folder });
    const home = await stat(join(folder, "database"));
    expect(home.mode & 0o777).toBe(0o700);
    if (isRootUser) expect(home.uid).not.toBe(0);
    const setting = async (name: string) =>
      (await sql<{ value: string }>`select current_setting(${name}) as value`.execute(database.kysely)).rows[0]?.value;
    expect(await setting("listen_addresses")).toBe("");
    expect(await setting("fsync")).toBe("on");
    expect(await setting("is_superuser")).toBe("off");
    const rules = await readFile(join(folder, "database", "data", "pg_hba.conf"), "utf8");
    expect(rules).not.toContain("trust");
    const admin = new pg.Client({ host: join(folder, "database"), user: "postgres", database: "postgres" });
    await expect(admin.connect()).rejects.toThrow(/reject/);
    await database.close();
  });

  it("shows its processes nothing of our environment", async () => {
    const folder = await newFolder();
    process.env.BERTH_TEST_SECRET = "hunter2";
    const database = await openDatabase({ dataFolder: folder });
    delete process.env.BERTH_TEST_SECRET;
    const { pid = 0 } = (await runningServer(folder)) ?? {};
    const environment = await readFile(`/proc/${pid}/environ`, "utf8");
    expect(environment).not.toContain("hunter2");
    expect(environment).toContain("PATH=");
    await database.close();
  });

  it("costs at most 40 MB in all its processes together while it idles", async () => {
    const folder = await newFolder();
    const database = await openDatabase({ dataFolder: folder });
    await migrate(database);
    const { pid = 0 } = (await runningServer(folder)) ?? {};
    expect(await proportionalMegabytes(pid)).toBeLessThan(40);
    await database.close();
  });

  it("starts where the path of its socket would be too long", async () => {
    const folder = await newFolder({ name: "a-folder-with-a-rather-long-name-".repeat(3) });
    const database = await openDatabase({ dataFolder: folder });
    const { socketFolder = "" } = (await runningServer(folder)) ?? {};
    expect(socketFolder.startsWith(folder)).toBe(false);
    expect((await stat(socketFolder)).mode & 0o777).toBe(0o700);
    await migrate(database);
    await database.close();
    await expect(stat(socketFolder)).rejects.toThrow();
  });

  it("refuses data of another major version, and says what to do", async () => {
    const folder = await newFolder();
    await (await openDatabase({ dataFolder: folder })).close();
    await writeFile(join(folder, "database", "data", "PG_VERSION"), "12\n");
    await expect(openDatabase({ dataFolder: folder })).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringMatching(/written by PostgreSQL 12.*Start the Berth version/),
    });
  });

  it("says in one sentence what stands in its way on the disk", async () => {
    const folder = await newFolder();
    await writeFile(join(folder, "database"), "a file where a folder should be");
    await expect(openDatabase({ dataFolder: folder })).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringMatching(/could not be opened: .*(EEXIST|ENOTDIR)/),
    });
  });

  it("says why it does not start", async () => {
    const folder = await newFolder();
    await (await openDatabase({ dataFolder: folder })).close();
    await writeFile(join(folder, "database", "data", "custom.conf"), "max_connections = many\n");
    await expect(openDatabase({ dataFolder: folder })).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringMatching(/does not start: .*(max_connections|configuration file)/),
    });
  });

  it("comes back by itself when its processes are killed", async () => {
    const folder = await newFolder();
    const database = await openDatabase({ dataFolder: folder });
    await migrate(database);
    await database.kysely.insertInto("lease").values({ name: "kept", owner: "x", expires_at: new Date() }).execute();
    const before = await runningServer(folder);
    process.kill(before?.pid ?? 0, "SIGKILL");
    const read = () =>
      database.kysely
        .selectFrom("lease")
        .select("name")
        .execute()
        .catch((error: { readonly code: string }) => error.code);
    const pid = async () => (await runningServer(folder))?.pid;
    await expect.poll(pid, { interval: 50 }).not.toBe(before?.pid);
    await expect.poll(read, { interval: 50 }).toEqual([{ name: "kept" }]);
    await database.close();
  });

  it.runIf(isRootUser)("runs as the user who starts it when that is not root", async () => {
    const folder = await newFolder({ uid: NOBODY });
    const child = startChild(folder, "close", { uid: NOBODY });
    await child.line("closed");
    expect(child.lines).toEqual(["open embedded-postgres", "closed"]);
    expect((await stat(join(folder, "database"))).uid).toBe(NOBODY);
    await child.ended;
    // Root can then take over the folder.
    const database = await openDatabase({ dataFolder: folder });
    await migrate(database);
    await database.close();
  });

  it.runIf(isRootUser)("says in one sentence that a folder on the way is closed to its user", async () => {
    const closed = await newFolder(); // created with mode 0700, like a home folder of root
    await expect(openDatabase({ dataFolder: join(closed, "berth") })).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringContaining(`${closed} is closed to it`),
    });
  });

  it.runIf(isRootUser)("gives way to PGlite, and says so, for a user without a name", async () => {
    const folder = await newFolder({ uid: 54_321 });
    const child = startChild(folder, "close", { uid: 54_321 });
    await child.line("closed");
    expect(child.lines[0]).toMatch(/^notice .*PGlite/);
    expect(child.lines[1]).toBe("open pglite");
    await child.ended;
    expect(await readdir(folder)).toContain("pglite");
  });

  it.runIf(isRootUser)("says in one sentence that a folder cannot be written", async () => {
    const folder = await newFolder({ uid: 0 });
    const child = startChild(folder, "close", { uid: NOBODY });
    expect(await child.line("failed")).toMatch(/cannot be written\. Make it writable/);
    await child.ended;
  });
});

describe("the fallback", () => {
  const newFolder = dataFolders();

  it("keeps what was written, and stays what a folder began with", async () => {
    const folder = await newFolder();
    const first = await openDatabase({ dataFolder: folder, embedded: "pglite" });
    await migrate(first);
    await first.kysely.insertInto("lease").values({ name: "kept", owner: "x", expires_at: new Date() }).execute();
    await first.close();
    const second = await openDatabase({ dataFolder: folder });
    expect(second.kind).toBe("pglite");
    expect(await second.kysely.selectFrom("lease").select("name").execute()).toEqual([{ name: "kept" }]);
    await second.close();
  });
});

/** Memory of the process and its children; shared pages count once. */
async function proportionalMegabytes(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
  let kilobytes = 0;
  for (const process of [String(pid), ...children]) {
    const rollup = await readFile(`/proc/${process}/smaps_rollup`, "utf8").catch(() => "");
    kilobytes += Number(/^Pss: +(\d+)/m.exec(rollup)?.[1] ?? 0);
  }
  return kilobytes / 1024;
}
