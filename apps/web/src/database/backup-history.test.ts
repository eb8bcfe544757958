import { expect, test } from "vitest";
import { historyOf, type SavedBackup } from "./backup-history.ts";

const backup = (day: number, fields: Partial<SavedBackup>): SavedBackup => ({
  ...{ uuid: `b${day}`, filename: null, message: null, status: "success", size: "1000", duration: 2 },
  created_at: `2026-01-0${day}T00:00:00.000000+00:00`,
  ...fields,
});

test("backups are shown in the order of time, and those that failed without size and duration", () => {
  const history = historyOf([
    backup(3, { size: "3000", duration: 0.5 }),
    backup(2, { status: "failed", size: "10", duration: 1 }),
    backup(1, {}),
  ]);
  expect(history).toEqual({
    times: [1, 2, 3].map((day) => Date.UTC(2026, 0, day) / 1000),
    sizes: [1000, null, 3000],
    durationsMs: [2000, null, 500],
    failures: [false, true, false],
  });
});

test("what runs or was cancelled is not part of the history", () => {
  const running = backup(2, { status: "running", size: null, duration: null });
  const { times, failures } = historyOf([running, backup(1, { status: "cancelled-by-user" }), backup(3, {})]);
  expect(times).toHaveLength(1);
  expect(failures).toEqual([false]);
});
