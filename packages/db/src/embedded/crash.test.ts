import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { openDatabase } from "../client.ts";
import { migrate } from "../migrate.ts";
import { startChild } from "./child.fixture.ts";
import { dataFolders, runningServer } from "./folder.fixture.ts";

describe("a server that is killed", () => {
  const newFolder = dataFolders();

  // From before the first file to after the first migration: a complete first start takes about a second.
  it.each([20, 120, 250, 400, 550, 700, 900, 1_200, 1_600])(
    "leaves a folder that opens when it dies %d ms after its first start began",
    async (afterMs) => {
      const folder = await newFolder();
      const child = startChild(folder, "open");
      await sleep(afterMs);
      await child.kill();
      const database = await openDatabase({ dataFolder: folder });
      await migrate(database);
      expect(await database.kysely.selectFrom("team").select("id").execute()).toEqual([{ id: 0 }]);
      await database.close();
      expect(await runningServer(folder)).toBeUndefined();
    },
  );

  it("leaves its database running, which the next one takes over with every row that was confirmed", async () => {
    const folder = await newFolder();
    for (let round = 1; round <= 3; round += 1) {
      const child = startChild(folder, "write");
      await child.line("wrote 100");
      const running = await runningServer(folder);
      await child.kill();
      const confirmed = child.lines.filter((line) => line.startsWith("wrote ")).length;

      const database = await openDatabase({ dataFolder: folder });
      expect((await runningServer(folder))?.pid).toBe(running?.pid);
      const { rows } = await sql<{ count: number }>`select count(*) from lease`.execute(database.kysely);
      expect(rows[0]?.count).toBeGreaterThanOrEqual(confirmed);
      expect(rows[0]?.count).toBeLessThanOrEqual(confirmed + 1);
      await sql`delete from lease`.execute(database.kysely);
      await database.close();
    }
  });

  it("loses no confirmed row when the database is killed with it", async () => {
    const folder = await newFolder();
    for (let round = 1; round <= 3; round += 1) {
      const child = startChild(folder, "write");
      await child.line("wrote 100");
      const { pid = 0 } = (await runningServer(folder)) ?? {};
      process.kill(pid, "SIGKILL");
      await child.kill();
      const confirmed = child.lines.filter((line) => line.startsWith("wrote ")).length;

      const database = await openDatabase({ dataFolder: folder });
      const { rows } = await sql<{ count: number }>`select count(*) from lease`.execute(database.kysely);
      expect(rows[0]?.count).toBeGreaterThanOrEqual(confirmed);
      await sql`delete from lease`.execute(database.kysely);
      await database.close();
    }
  });

  it("loses no confirmed row with the fallback", async () => {
    const folder = await newFolder();
    const child = startChild(folder, "write", { embedded: "pglite" });
    await child.line("wrote 50");
    await child.kill();
    const confirmed = child.lines.filter((line) => line.startsWith("wrote ")).length;
    const database = await openDatabase({ dataFolder: folder });
    expect(database.kind).toBe("pglite");
    const { rows } = await sql<{ count: number }>`select count(*) from lease`.execute(database.kysely);
    expect(rows[0]?.count).toBeGreaterThanOrEqual(confirmed);
    await database.close();
  });
});
