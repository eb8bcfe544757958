import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { USER } from "./build.fixture.ts";
import { moveSource } from "./source-move.ts";

const MEMORY = "/dev/shm"; // A separate file system on every Linux.
const hasOtherFileSystem = existsSync(MEMORY) && statSync(MEMORY).dev !== statSync(tmpdir()).dev;
const FILES = 500;

describe.skipIf(!hasOtherFileSystem)("a checkout on another file system", () => {
  let elsewhere: string;
  let releases: string;
  let source: string;
  let target: string;
  beforeEach(() => {
    elsewhere = mkdtempSync(join(MEMORY, "berth-move-"));
    releases = mkdtempSync(join(tmpdir(), "berth-move-"));
    source = join(elsewhere, "checkout");
    target = join(releases, "d1");
    mkdirSync(source);
    for (let index = 0; index < FILES; index++) writeFileSync(join(source, `f${index}`), "text");
    mkdirSync(join(source, "sub"));
    writeFileSync(join(source, "sub", "run"), "");
    chmodSync(join(source, "sub", "run"), 0o755);
    symlinkSync("sub/run", join(source, "link"));
    mkdirSync(target, { mode: 0o700 });
    if (USER !== undefined) chownSync(target, USER.uid, USER.gid);
  });
  afterEach(() => {
    rmSync(elsewhere, { recursive: true, force: true });
    rmSync(releases, { recursive: true, force: true });
  });

  test("becomes the release's folder at once, never half, and belongs to its user", async () => {
    let isDone = false;
    const moved = moveSource(source, target, USER).finally(() => {
      isDone = true;
    });
    const seen = new Set<number>();
    const stagingModes = new Set<number>();
    while (!isDone) {
      seen.add(readdirSync(target).length);
      const staging = lstatSync(join(releases, ".incoming-d1"), { throwIfNoEntry: false });
      if (staging !== undefined) stagingModes.add(staging.mode & 0o777).add(staging.uid);
      await turn();
    }
    await moved;
    const whole = FILES + 2;
    expect([...seen].filter((count) => count !== 0 && count !== whole)).toEqual([]);
    expect([...stagingModes].sort()).toEqual([process.getuid?.() ?? 0, 0o700].sort());
    expect(readdirSync(target)).toHaveLength(whole);
    expect(readdirSync(releases)).toEqual(["d1"]);
    expect(readlinkSync(join(target, "link"))).toBe("sub/run");
    expect(lstatSync(join(target, "sub", "run")).mode & 0o777).toBe(0o755);
    const uid = USER?.uid ?? process.getuid?.();
    for (const name of [".", "f0", "sub", "sub/run", "link"]) expect(lstatSync(join(target, name)).uid).toBe(uid);
  });

  test("is not mixed with what somebody has put into the release's folder meanwhile", async () => {
    symlinkSync("/etc", join(target, "planted"));
    await expect(moveSource(source, target, USER)).rejects.toThrow("ENOTEMPTY");
    expect(readdirSync(target)).toEqual(["planted"]);
    expect(readdirSync(releases)).toEqual(["d1"]);
  });

  test("is copied anew after a copy that broke off", async () => {
    mkdirSync(join(releases, ".incoming-d1", "source", "old"), { recursive: true });
    await moveSource(source, target, USER);
    expect(readdirSync(target)).not.toContain("old");
  });
});
