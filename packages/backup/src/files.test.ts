import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { DomainError } from "@berth/core";
import type { Sink } from "@berth/core/ports";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decompress, digest } from "./content.ts";
import { backupFiles } from "./files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "berth-backups-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function* text(...parts: string[]) {
  for (const part of parts) yield Buffer.from(part);
}
const all = async (chunks: AsyncIterable<Uint8Array>) => {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
};

test("are written for nobody else to read, compressed where they are not, with their checksum", async () => {
  const files = backupFiles(root);
  const path = files.pathOf("db", "one.sql.gz");
  const written = await files.write(path, (sink) => sink(text("select", " 1")), { isCompressed: false });
  expect(await digest(files.read(path))).toEqual(written);
  expect(gunzipSync(await all(files.read(path))).toString()).toBe("select 1");
  expect((await all(decompress(files.read(path)))).toString()).toBe("select 1");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(root, "db")).mode & 0o777).toBe(0o700);
  await files.write(files.pathOf("db", "two"), (sink) => sink(text("as it is")), { isCompressed: true });
  expect((await all(files.read(files.pathOf("db", "two")))).toString()).toBe("as it is");
  await files.remove(path);
  await files.remove(path);
  await expect(digest(files.read(path))).rejects.toMatchObject({ code: "resource.not_found" });
});

test("are not there when what makes them fails, whenever that is", async () => {
  const files = backupFiles(root);
  const broken = new DomainError("deploy.command_failed", "pg_dump was killed.");
  const late = async (sink: Sink) => {
    await sink(text("half"));
    throw broken;
  };
  await expect(files.write(files.pathOf("db", "x"), late, { isCompressed: true })).rejects.toBe(broken);
  async function* failing() {
    yield Buffer.from("half");
    throw broken;
  }
  await expect(files.write(files.pathOf("db", "x"), (sink) => sink(failing()), { isCompressed: false })).rejects.toBe(
    broken,
  );
  expect(readdirSync(join(root, "db"))).toEqual([]);
});

test("are found, and removed, where their folder was moved to", async () => {
  const [before, after] = [join(root, "before"), join(root, "after")];
  const files = backupFiles(before);
  const path = files.pathOf("a1b2c3d4e5f6g7h8i9j0k1l2", "one.sql");
  await files.write(path, (sink) => sink(text("here")), { isCompressed: true });
  renameSync(before, after);
  const moved = backupFiles(after);
  expect((await all(moved.read(path))).toString()).toBe("here");
  await moved.remove(path);
  expect(readdirSync(join(after, "a1b2c3d4e5f6g7h8i9j0k1l2"))).toEqual([]);
  const outside = join(before, "a1b2c3d4e5f6g7h8i9j0k1l2", "..");
  await expect(moved.remove(outside)).rejects.toMatchObject({ code: "resource.not_found" });
});

test("say of damage what it is, and are of no folder but their own", async () => {
  const files = backupFiles(root);
  await files.write(files.pathOf("db", "x"), (sink) => sink(text("no gzip")), { isCompressed: true });
  await expect(all(decompress(files.read(files.pathOf("db", "x"))))).rejects.toThrow("cannot be decompressed");
  for (const path of ["/etc/hostname", join(root, "../x"), root]) {
    await expect(files.remove(path)).rejects.toMatchObject({ code: "resource.not_found" });
  }
  expect(await files.folder()).toBe(await backupFiles(root).folder());
  expect(await files.folder()).toMatch(/^[0-9a-f]{24}$/);
});

const mayMount = process.getuid?.() === 0;
test.runIf(mayMount)("fail with that as their reason when the disk is full, and leave nothing on it", async () => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", root]);
  try {
    const files = backupFiles(root);
    async function* much() {
      for (let at = 0; at < 64; at += 1) yield Buffer.alloc(65_536, at);
    }
    const path = files.pathOf("db", "x");
    await expect(files.write(path, (sink) => sink(much()), { isCompressed: true })).rejects.toThrow(
      "disk with the backups is full",
    );
    expect(readdirSync(join(root, "db"))).toEqual([]);
  } finally {
    execFileSync("umount", [root]);
  }
});
