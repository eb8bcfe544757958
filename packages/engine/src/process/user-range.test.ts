import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { PROCESS_SETTINGS, USER_RANGE_SIZE } from "./settings.ts";
import { takeUserRange } from "./user-range.ts";

describe("the user ids of an instance", () => {
  let root: string;
  let warnings: string[];
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "berth-users-"));
    warnings = [];
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const { uidBase: first } = PROCESS_SETTINGS;
  function take(name: string): Promise<number> {
    const dataFolder = join(root, name);
    mkdirSync(dataFolder, { recursive: true });
    const warn = (message: string) => void warnings.push(message);
    return takeUserRange({ registry: join(root, "registry"), dataFolder, warn });
  }

  test("are those of no other instance of the machine, also when several start at once", async () => {
    const names = ["a", "b", "c", "d", "e"];
    const ranges = await Promise.all(names.map(take));
    expect(ranges.toSorted((a, b) => a - b)).toEqual(names.map((_, index) => first + index * USER_RANGE_SIZE));
  });

  test("stay the same when it starts again", async () => {
    await take("a");
    const range = await take("b");
    await take("c");
    expect(await take("b")).toBe(range);
    expect(range).toBe(first + USER_RANGE_SIZE);
  });

  test("are free again once its data folder is gone", async () => {
    await take("a");
    await take("b");
    rmSync(join(root, "a"), { recursive: true });
    expect(await take("c")).toBe(first);
  });

  test("go with a data folder that is moved", async () => {
    await take("a");
    const range = await take("b");
    cpSync(join(root, "b"), join(root, "moved"), { recursive: true });
    rmSync(join(root, "b"), { recursive: true });
    expect(await take("moved")).toBe(range);
  });

  test("are refused to a copy of its data folder", async () => {
    await take("a");
    cpSync(join(root, "a"), join(root, "copy"), { recursive: true });
    await expect(take("copy")).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringContaining(join(root, "a")),
    });
    expect(await take("a")).toBe(first);
  });

  test("stay those of its files when it is older than the record, which it says", async () => {
    await take("a");
    mkdirSync(join(root, "old/application"), { recursive: true });
    expect(await take("old")).toBe(first);
    expect(warnings).toEqual([expect.stringContaining("the same users")]);
  });
});
