import { describe, expect, test } from "vitest";
import type { DatabaseEngine } from "../database/database-engine.ts";
import { BACKUP_DEFAULTS, BackupCreate, backupPlan, dumpTargets, newBackup } from "./backup.ts";

const one = (database: string, ...excludedCollections: string[]) => ({ database, excludedCollections });

describe("what is saved", () => {
  test.each<[DatabaseEngine, string, ReturnType<typeof dumpTargets>]>([
    ["postgresql", "shop", [one("shop")]],
    ["postgresql", "shop, blog", [one("shop"), one("blog")]],
    ["postgresql", "shop,blog, shop", [one("shop"), one("blog")]],
    ["mysql", "shop:logs", undefined],
    ["mysql", "", undefined],
    ["mysql", "shop,,blog", undefined],
    ["postgresql", "--version", undefined],
    ["postgresql", "host=evil dbname=x", undefined],
    ["postgresql", "shop;ls", undefined],
    ["mongodb", "shop", [one("shop")]],
    ["mongodb", "shop:logs,jobs|blog", [one("shop", "logs", "jobs"), one("blog")]],
    ["mongodb", "shop:", undefined],
    ["mongodb", "shop:a:b", undefined],
    ["redis", "0", undefined],
  ])("of %s in %j is %j", (engine, text, targets) => {
    expect(dumpTargets(engine, text)).toEqual(targets);
  });
});

describe("a schedule", () => {
  const subject = { engine: "postgresql", fields: { postgres_db: "shop" }, hasStorage: false } as const;
  const fresh = newBackup({ frequency: "daily" });

  test("saves the first database by itself, and also when none is named any more", () => {
    const made = backupPlan(subject, fresh, { frequency: "daily" });
    expect(made).toEqual({
      enabled: true,
      frequency: "daily",
      settings: { ...BACKUP_DEFAULTS, databases_to_backup: "shop" },
      problems: {},
    });
    const named = backupPlan(subject, made, { databases_to_backup: "blog", timeout: 60 });
    expect(named.settings).toMatchObject({ databases_to_backup: "blog", timeout: 60 });
    expect(backupPlan(subject, named, { databases_to_backup: null }).settings).toMatchObject({
      databases_to_backup: "shop",
      timeout: 60,
    });
  });

  test("names a hundred databases at most, since each is a run of its own", () => {
    const names = (count: number) => Array.from({ length: count }, (_, at) => `db${at}`).join();
    const problems = (count: number) => backupPlan(subject, fresh, { databases_to_backup: names(count) }).problems;
    expect([problems(100), problems(101)]).toEqual([{}, { databases_to_backup: ["At most 100 databases."] }]);
  });

  test("is sent to the storage that it is made with, unless that is not wanted", () => {
    expect(newBackup({ frequency: "daily", s3_storage_uuid: "s" }).settings.save_s3).toBe(true);
    const plan = (save_s3: boolean | undefined, hasStorage: boolean) =>
      backupPlan({ ...subject, hasStorage }, newBackup({ frequency: "daily", s3_storage_uuid: "s" }), { save_s3 });
    expect(plan(undefined, true)).toMatchObject({ settings: { save_s3: true }, problems: {} });
    expect(plan(false, true)).toMatchObject({ settings: { save_s3: false }, problems: {} });
    expect(plan(true, false).problems).toEqual({
      s3_storage_uuid: ["This field is required when save_s3 is true."],
    });
  });

  test.each(["hourly", "@daily", "*/5 * * * *"])("takes the frequency %j as it is written", (frequency) => {
    expect(BackupCreate.parse({ frequency }).frequency).toBe(frequency);
  });

  test("reads numbers and flags as text", () => {
    const sent = { frequency: "daily", database_backup_retention_max_storage_s3: "0.5", enabled: "0", timeout: "90" };
    expect(BackupCreate.parse(sent)).toEqual({
      ...{ frequency: "daily", database_backup_retention_max_storage_s3: 0.5, enabled: false, timeout: 90 },
    });
  });
});
