import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type BackupCopy, expiredCopies, type RetentionRule } from "./backup-retention.ts";

const DAY = 86_400_000;
const GIB = 1024 ** 3;
const NOW = new Date("2026-06-01T00:00:00Z");
const NONE: RetentionRule = { amount: 0, days: 0, maxStorageGigabytes: 0 };

const copy = (uuid: string, daysAgo: number, more: Partial<BackupCopy> = {}): BackupCopy => ({
  uuid,
  databaseName: "shop",
  createdAt: new Date(NOW.getTime() - daysAgo * DAY),
  sizeBytes: GIB,
  isSuccess: true,
  ...more,
});
const names = (copies: readonly BackupCopy[]) => copies.map(({ uuid }) => uuid);

describe("copies of backups that go", () => {
  const five = ["a", "b", "c", "d", "e"].map((uuid, at) => copy(uuid, at + 0.5));

  it.each<[string, Partial<RetentionRule>, readonly string[]]>([
    ["none without a rule", {}, []],
    ["those beyond the amount", { amount: 3 }, ["d", "e"]],
    ["those that are too old", { days: 2 }, ["c", "d", "e"]],
    ["the oldest until the rest fits", { maxStorageGigabytes: 3.5 }, ["d", "e"]],
    ["what any of the rules gives up", { amount: 4, days: 4, maxStorageGigabytes: 2 }, ["c", "d", "e"]],
    ["all but the newest, however small the limit is", { maxStorageGigabytes: 0.1 }, ["b", "c", "d", "e"]],
  ])("are %s", (_, rule, going) => {
    expect(names(expiredCopies(five, { ...NONE, ...rule }, NOW))).toEqual(going);
  });

  it("are counted for each database by itself", () => {
    const copies = [
      copy("a1", 1),
      copy("b1", 1, { databaseName: "b" }),
      copy("a2", 2),
      copy("b2", 2, { databaseName: "b" }),
    ];
    expect(names(expiredCopies(copies, { ...NONE, amount: 1 }, NOW)).toSorted()).toEqual(["a2", "b2"]);
  });

  it("are not those that a failed one would push out", () => {
    const copies = [copy("failed", 1, { isSuccess: false }), copy("good", 90), copy("older", 91)];
    expect(names(expiredCopies(copies, { amount: 1, days: 7, maxStorageGigabytes: 1 }, NOW)).toSorted()).toEqual([
      "failed",
      "older",
    ]);
  });
});

describe("whatever the copies and rules are", () => {
  const copies = fc.uniqueArray(
    fc.record({
      uuid: fc.string({ minLength: 1, maxLength: 6 }),
      databaseName: fc.constantFrom("a", "b", null),
      createdAt: fc.integer({ min: 0, max: 40 }).map((days) => new Date(NOW.getTime() - days * (DAY / 2))),
      sizeBytes: fc.integer({ min: 0, max: 3 * GIB }),
      isSuccess: fc.boolean(),
    }),
    { selector: ({ uuid }) => uuid, maxLength: 30 },
  );
  const rule = fc.record({
    amount: fc.integer({ min: 0, max: 5 }),
    days: fc.integer({ min: 0, max: 20 }),
    maxStorageGigabytes: fc.double({ min: 0, max: 20, noNaN: true }),
  });
  const stays = (all: readonly BackupCopy[], by: RetentionRule) => {
    const going = new Set(expiredCopies(all, by, NOW));
    return all.filter((one) => !going.has(one));
  };
  const newestGood = (all: readonly BackupCopy[], database: string | null) =>
    Math.max(
      ...all.filter((one) => one.isSuccess && one.databaseName === database).map((one) => one.createdAt.getTime()),
    );

  it("keeps the newest good copy of each database", () => {
    fc.assert(
      fc.property(copies, rule, (all, by) => {
        for (const database of ["a", "b", null])
          expect(newestGood(stays(all, by), database)).toBe(newestGood(all, database));
      }),
    );
  });

  it("gives up nothing more when it is asked again, and the same in any order", () => {
    fc.assert(
      fc.property(copies, rule, (all, by) => {
        expect(expiredCopies(stays(all, by), by, NOW)).toEqual([]);
        expect(expiredCopies(all.toReversed(), by, NOW)).toEqual(expiredCopies(all, by, NOW));
      }),
    );
  });

  it("leaves no more than the rules allow, but for the newest good ones", () => {
    fc.assert(
      fc.property(copies, rule, (all, by) => {
        const left = stays(all, by);
        const isNewest = (one: BackupCopy) =>
          one.isSuccess && one.createdAt.getTime() === newestGood(all, one.databaseName);
        const rest = left.filter((one) => !isNewest(one));
        if (by.days > 0)
          for (const one of rest) expect(NOW.getTime() - one.createdAt.getTime()).toBeLessThanOrEqual(by.days * DAY);
        for (const database of ["a", "b", null]) {
          const good = left.filter((one) => one.isSuccess && one.databaseName === database);
          if (by.amount > 0) expect(good.length).toBeLessThanOrEqual(by.amount);
        }
        const total = left.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        if (by.maxStorageGigabytes > 0 && rest.length > 0)
          expect(total).toBeLessThanOrEqual(by.maxStorageGigabytes * GIB);
      }),
    );
  });

  it("gives up nothing where there is no rule", () => {
    fc.assert(
      fc.property(copies, (all) => {
        expect(expiredCopies(all, NONE, NOW)).toEqual([]);
      }),
    );
  });
});
