import { describe, expect, test } from "vitest";
import { BACKUP_STATUSES, backupStates } from "./backup-status.ts";
import { cancelledRestore, restoreProblem } from "./restore.ts";

describe("the state of a backup, restore or drill", () => {
  test("goes forward only: what has ended never changes again", () => {
    const ways = BACKUP_STATUSES.flatMap((from) =>
      BACKUP_STATUSES.filter((to) => backupStates.mayBecome(from, to)).map((to) => `${from} ${to}`),
    );
    expect(ways).toEqual(["running success", "running failed", "running cancelled-by-user"]);
    expect(BACKUP_STATUSES.filter(backupStates.isTerminal)).toEqual(["success", "failed", "cancelled-by-user"]);
    expect(backupStates.sourcesOf("cancelled-by-user")).toEqual(["running"]);
    expect(backupStates.sourcesOf("running")).toEqual([]);
  });
});

describe("a cancelled restore", () => {
  test.each([
    ["untouched", "the database is unchanged"],
    ["undone", "rolled back, so the database is unchanged"],
    ["either", "is unchanged, or contains all of the backup"],
    ["partial", "Restore a backup before you use it"],
    ["whole", "All of the backup had been restored, and is kept"],
  ] as const)("that left it %s says what the database holds", (reach, said) => {
    expect(cancelledRestore("restore", reach)).toMatch(/^Cancelled by a user\. /);
    expect(cancelledRestore("restore", reach)).toContain(said);
    // A drill never changes the original database.
    expect(cancelledRestore("drill", reach)).toBe("Cancelled by a user. The original database was not changed.");
  });
});

test("a cancelled backup cannot be restored", () => {
  const copies = { sha256: null, filename: "/b/1", local_storage_deleted: true, s3_uploaded: false } as const;
  expect(restoreProblem({ ...copies, status: "cancelled-by-user", s3_storage_deleted: false })).toBe(
    "The backup was cancelled: nothing of it was kept.",
  );
});
