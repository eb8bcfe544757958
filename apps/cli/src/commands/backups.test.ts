import { describe, expect, test } from "vitest";
import { type Answers, ranWith } from "../answers.fixture.ts";

const database = (name: string) => ({
  ...{ uuid: `${name}-uuid`, name, database_type: "standalone-mysql", status: "running:healthy" },
});
const schedule = (uuid: string, fields: object) => ({
  ...{ uuid, enabled: true, frequency: "daily", save_s3: false, s3_storage_uuid: null, dump_all: false },
  ...{ timeout: 3600, executions: [] },
  ...fields,
});
const GOOD = { id: 1, uuid: "b1", status: "success", created_at: "2026-01-01T00:00:00.000000Z", size: "1" };

/** A database `shop` with these schedules, and what was sent. */
function shop(...schedules: readonly object[]) {
  const sent: object[] = [];
  const answers: Answers = {
    "databases.list": () => [database("shop")],
    "databases.backups.list": () => schedules,
    "databases.backups.create": (input) => {
      sent.push(input);
      return { uuid: "new" };
    },
    "databases.backups.update": (input) => {
      sent.push(input);
      return { message: "Updated." };
    },
  };
  return { sent, run: (...argv: readonly string[]) => ranWith(answers, ["backup", ...argv]) };
}

describe("a backup schedule", () => {
  test.each([[[]], [["--timeout", "3600"]]])("that exists is not made twice: %j", async (flags) => {
    const { run, sent } = shop(schedule("s1", {}));
    const ran = await run("schedule", "shop", "daily", ...flags);
    expect([ran.exitCode, sent]).toEqual([2, []]);
    expect(ran.stderr).toContain("shop is backed up daily already (s1).");
    expect(ran.stderr).toContain("berth backup unschedule shop");
  });

  test.each([
    ["another frequency", {}, ["weekly"]],
    ["another setting", {}, ["daily", "--timeout", "60"]],
    ["one that was stopped", { enabled: false }, ["daily"]],
  ])("is made beside %s", async (_other, fields, argv) => {
    const { run, sent } = shop(schedule("s1", fields));
    expect((await run("schedule", "shop", ...argv)).exitCode).toBe(0);
    expect(sent).toMatchObject([{ uuid: "shop-uuid", frequency: argv[0] }]);
  });

  test("is stopped, which keeps its backups", async () => {
    const { run, sent } = shop(schedule("s1", {}), schedule("old", { enabled: false }));
    const ran = await run("unschedule", "shop");
    expect([ran.exitCode, ran.stdout]).toEqual([0, expect.stringContaining("shop is no longer backed up daily.")]);
    expect(sent).toEqual([{ uuid: "shop-uuid", scheduled_backup_uuid: "s1", enabled: false }]);
  });

  test("of several is stopped by its uuid", async () => {
    const { run, sent } = shop(schedule("s1", {}), schedule("s2", { frequency: "weekly" }));
    expect(await run("unschedule", "shop")).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("s2  weekly"),
    });
    expect(sent).toEqual([]);
    expect((await run("unschedule", "shop", "--schedule", "s2")).exitCode).toBe(0);
    expect(sent).toMatchObject([{ scheduled_backup_uuid: "s2" }]);
  });

  test("is not stopped where none is", async () => {
    const { run } = shop(schedule("old", { enabled: false }));
    expect(await run("unschedule", "shop")).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("no schedule"),
    });
  });
});

test.each([
  [{ enabled: true }, "Saved daily  s1\n"],
  [{ enabled: true, save_s3: true }, "Saved daily, to S3 too  s1\n"],
  [{ enabled: false }, "Not scheduled: saved on request  s1\n"],
])("a list of backups says how they are made: %j", async (fields, said) => {
  const { run } = shop(schedule("s1", fields));
  expect((await run("list", "shop")).stdout).toContain(said);
});

test("a database to restore into that does not exist is named with the command that creates it", async () => {
  const { run } = shop(schedule("s1", { executions: [GOOD] }));
  const ran = await run("restore", "shop", "b1", "--to", "copy", "--yes");
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining("berth db create mysql copy\n")]);
});

test("without a database, a backup says how to create one", async () => {
  const ran = await ranWith({ "databases.list": () => [] }, ["backup", "run", "shop"]);
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining("berth db create postgresql NAME")]);
});
