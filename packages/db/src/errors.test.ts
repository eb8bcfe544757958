import { expect, test } from "vitest";
import { wrapDatabaseError } from "./errors.ts";

test.each([
  ["53100", "storage.full", "disk of Berth's database is full"],
  ["ENOSPC", "storage.full", "disk of Berth's database is full"],
  ["53300", "database.unavailable", "no connection left"],
  ["25006", "database.unavailable", "read-only"],
  ["28P01", "database.unavailable", "refuses Berth's password"],
  ["3D000", "database.unavailable", "does not exist any more"],
  ["57P03", "database.unavailable", "starting or recovering"],
  ["08006", "database.unavailable", "does not answer"],
  ["ECONNRESET", "database.unavailable", "does not answer"],
  ["42601", "internal.error", "refused a statement"],
])("the driver's error %s is %s and says why", (code, expected, sentence) => {
  const error = wrapDatabaseError(Object.assign(new Error("relation secret of host 10.0.0.1"), { code }));
  expect(error.code).toBe(expected);
  expect(error.message).toContain(sentence);
  expect(error.message).not.toContain("10.0.0.1");
});
