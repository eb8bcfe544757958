import { describe, expect, test } from "vitest";
import { copyLocations, isRestorable, newProgress, progressText, type ShownProgress } from "./backup-execution.ts";

const KEPT = {
  filename: "/backups/x.dump",
  size: "7",
  local_storage_deleted: false,
  s3_uploaded: null,
  s3_storage_deleted: false,
} as const;

describe("a backup", () => {
  test.each([
    [{}, ["server"]],
    [{ s3_uploaded: true }, ["server", "S3"]],
    [{ s3_uploaded: true, local_storage_deleted: true }, ["S3"]],
    [{ s3_uploaded: true, s3_storage_deleted: true }, ["server"]],
    [{ s3_uploaded: false, local_storage_deleted: true }, []],
    [{ size: null }, []],
  ])("with %j is kept at %j", (change, places) => {
    expect(copyLocations({ ...KEPT, ...change })).toEqual(places);
  });

  test("is restored only when it is good and a copy of it is left", () => {
    expect(isRestorable({ ...KEPT, status: "success" })).toBe(true);
    expect(isRestorable({ ...KEPT, status: "failed" })).toBe(false);
    expect(isRestorable({ ...KEPT, status: "success", local_storage_deleted: true })).toBe(false);
  });
});

describe("the progress of a backup", () => {
  test("is told for each step, and each time that twice as much is written", () => {
    const seen = [
      ["waiting", null],
      ["dumping", null],
      ["dumping", 20_000],
      ["dumping", 1_500_000],
      ["dumping", 2_900_000],
      ["dumping", 3_000_000],
      ["uploading", 3_000_000],
      [null, null],
    ] as const;
    let told: ShownProgress | undefined;
    const lines: string[] = [];
    for (const [step, written_bytes] of seen) {
      const next = newProgress(told, { step, written_bytes });
      if (next === undefined) continue;
      told = next;
      lines.push(progressText(next));
    }
    expect(lines).toEqual(["waiting", "dumping", "dumping, 1.5 MB", "dumping, 3.0 MB", "uploading, 3.0 MB"]);
  });
});
