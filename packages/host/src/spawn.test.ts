import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { spawnHere } from "./own-spawn.ts";
import { spawnAs, startProgramsBy } from "./spawn.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-spawn-"));
});
afterEach(() => {
  startProgramsBy(spawnHere);
  rmSync(folder, { recursive: true, force: true });
});

const refused = (reason: string) => ({ code: "engine.failed", message: expect.stringContaining(reason) });

describe("a program that cannot be started says why", () => {
  test("it is not installed", async () => {
    await expect(spawnAs(["berth-no-such-program"], { env: {} }, [])).rejects.toMatchObject(refused("not installed"));
  });

  test("its file may not be executed, or is a folder", async () => {
    const file = join(folder, "program");
    writeFileSync(file, "#!/bin/sh\n");
    chmodSync(file, 0o644);
    for (const program of [file, folder]) {
      await expect(spawnAs([program], { env: {} }, [])).rejects.toMatchObject(refused("may not be executed"));
    }
  });

  test("the folder to run it in is a file", async () => {
    const cwd = join(folder, "file");
    writeFileSync(cwd, "");
    const starting = spawnAs(["/bin/true"], { env: {}, cwd }, []);
    await expect(starting).rejects.toMatchObject(refused("the folder to run it in does not exist"));
  });

  test.each([
    { what: "process", code: "EAGAIN", syscall: "spawn /bin/true" },
    { what: "open file", code: "EMFILE", syscall: "open" },
    { what: "memory", code: "ENOMEM", syscall: "spawn" },
  ])("the machine has no $what left", async ({ code, syscall }) => {
    const cause = Object.assign(new Error(code), { code, syscall });
    startProgramsBy(() => Promise.reject(cause));
    const starting = spawnAs(["/bin/true"], { env: {} }, []);
    await expect(starting).rejects.toMatchObject({ ...refused("no process, memory or open file left"), cause });
  });
});
