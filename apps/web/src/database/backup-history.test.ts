import { expect, test } from "vitest";
import { historiesOf, type SavedBackup } from "./backup-history.ts";

const backup = (day: number, fields: Partial<SavedBackup>): SavedBackup => ({
  ...{
    uuid: `b${day}`,
    filename: null,
    message: null,
    status: "success",
    size: "1000",
    duration: 2,
    database_name: "shop",
  },
  created_at: `2026-01-0${day}T00:00:00.000000+00:00`,
  ...fields,
});

test("backups are shown in the order of time, and those that failed without size and duration", () => {
  const histories = historiesOf([
    backup(3, { size: "3000", duration: 0.5 }),
    backup(2, { status: "failed", size: "10", duration: 1 }),
    backup(1, {}),
  ]);
  expect(histories).toEqual([
    {
      database: "shop",
      times: [1, 2, 3].map((day) => Date.UTC(2026, 0, day) / 1000),
      sizes: [1000, null, 3000],
      durationsMs: [2000, null, 500],
      failures: [false, true, false],
    },
  ]);
});

test("each database of a schedule has a history of its own", () => {
  const histories = historiesOf([
    backup(2, { size: "2000" }),
    backup(2, { database_name: "stock", size: "7" }),
    backup(1, {}),
    backup(1, { database_name: "stock", status: "failed" }),
  ]);
  expect(histories.map(({ database, sizes }) => [database, sizes])).toEqual([
    ["shop", [1000, 2000]],
    ["stock", [null, 7]],
  ]);
});

test("what runs or was cancelled is not part of the history", () => {
  const running = backup(2, { status: "running", size: null, duration: null });
  const histories = historiesOf([running, backup(1, { status: "cancelled-by-user" }), backup(3, {})]);
  expect(histories).toMatchObject([{ failures: [false] }]);
});
