import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { lockFile } from "./file-lock.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-lock-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SCRIPT = `import { lockFile } from ${JSON.stringify(new URL("./file-lock.ts", import.meta.url).href)};
const { lock, pid } = lockFile(process.argv[1]);
process.stdout.write(lock === undefined ? "refused by " + pid : "locked");
setInterval(() => {}, 1000);`;

/** A process that tries to lock the file, and runs until it is killed. */
async function contender(path: string) {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", SCRIPT, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = (await once(child.stdout, "data")) as [Buffer];
  return {
    pid: child.pid,
    said: said.toString(),
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

describe("a locked file", () => {
  test("is refused to this and other processes, with the holder's process id, until it is released", async () => {
    const path = join(folder, "released");
    const { lock } = lockFile(path);
    expect(lockFile(path)).toEqual({ lock: undefined, pid: String(process.pid) });
    const other = await contender(path);
    expect(other.said).toBe(`refused by ${process.pid}`);
    await other.kill();
    lock?.release();
    expect(lockFile(path).lock).toBeDefined();
  });

  test("stays locked when this process asks for it by another path", async () => {
    const real = mkdtempSync(join(folder, "real-"));
    symlinkSync(real, join(folder, "link"));
    const { lock } = lockFile(join(real, "file"));
    expect(lockFile(join(folder, "link", "file")).lock).toBeUndefined();
    // Opening and closing the file once more would have dropped the lock.
    const other = await contender(join(real, "file"));
    expect(other.said).toBe(`refused by ${process.pid}`);
    await other.kill();
    lock?.release();
  });

  test("goes to exactly one of many that find the files of one that was killed", async () => {
    const path = join(folder, "raced");
    for (let round = 0; round < 5; round += 1) {
      const dead = await contender(path);
      expect(dead.said).toBe("locked");
      await dead.kill();
      writeFileSync(`${path}.pid`, `${process.pid}\n`);
      const all = await Promise.all(Array.from({ length: 4 }, () => contender(path)));
      expect(all.filter(({ said }) => said === "locked")).toHaveLength(1);
      for (const one of all) await one.kill();
    }
  });
});
