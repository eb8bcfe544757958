import { appendFile, mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Site } from "@berth/core/ports";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SavedTable } from "./saved-table.ts";
import { sitesOfFile } from "./table-file.ts";

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-table-"));
  path = join(folder, "table.json");
});
afterEach(() => rm(folder, { recursive: true }));

const site = (id: string, name = id): Site => ({
  id,
  name,
  routes: [{ host: `${id}.test`, path: "/" }],
  upstreams: [],
});
const saved = async () => [...sitesOfFile(await readFile(path, "utf8")).values()];
const inode = async () => (await stat(path)).ino;

/** As many as a server has that is in use by a whole company. */
const MANY = Array.from({ length: 2000 }, (_, n) => site(`site-${n}`));

describe("the saved table", () => {
  it("is read as it was written, with each change after it", async () => {
    const table = await SavedTable.read(path);
    await table.save({ sites: [site("a"), site("b"), site("c")] });
    const before = await inode();
    await table.save({ put: site("b", "changed") });
    await table.save({ delete: "a" });
    await table.save({ put: site("a", "last") });
    const expected = [site("b", "changed"), site("c"), site("a", "last")];
    expect([...table.sites.values()]).toEqual(expected);
    expect([...(await SavedTable.read(path)).sites.values()]).toEqual(expected);
    expect(await inode()).toBe(before);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("of an earlier version is one object", async () => {
    await appendFile(path, JSON.stringify({ sites: [site("a")] }));
    expect([...(await SavedTable.read(path)).sites.values()]).toEqual([site("a")]);
  });

  it("ignores a last line that a crash has cut, and is written anew after it", async () => {
    const table = await SavedTable.read(path);
    await table.save({ sites: [site("a")] });
    await appendFile(path, JSON.stringify({ put: site("b") }).slice(0, -5));
    expect(await saved()).toEqual([site("a")]);
    expect(await table.has({ delete: "b" })).toBe(false);
    await table.save({ put: site("c") });
    expect(await saved()).toEqual([site("a"), site("c")]);
    expect(await table.has({ delete: "b" })).toBe(true);
  });

  it("says what it has", async () => {
    const table = await SavedTable.read(path);
    await table.save({ sites: [site("a")] });
    expect(await table.has({ put: site("a") })).toBe(true);
    expect(await table.has({ put: site("a", "changed") })).toBe(false);
    expect(await table.has({ delete: "a" })).toBe(false);
    expect(await table.has({ delete: "b" })).toBe(true);
    expect(await table.has({ sites: [site("a")] })).toBe(true);
    expect(await table.has({ sites: [] })).toBe(false);
    await rm(path);
    expect(await table.has({ put: site("a") })).toBe(false);
  });

  it("writes a change of one site among many alone, and the file does not grow without end", async () => {
    const table = await SavedTable.read(path);
    await table.save({ sites: MANY });
    const { size } = await stat(path);
    let replaced = 0;
    let before = await inode();
    for (let n = 0; n < MANY.length * 3; n++) {
      await table.save({ put: site(`site-${n % MANY.length}`, `renamed ${n}`) });
      const now = await inode();
      if (now !== before) replaced++;
      before = now;
    }
    expect(replaced).toBeGreaterThan(0);
    expect(replaced).toBeLessThanOrEqual(4);
    expect((await stat(path)).size).toBeLessThan(3 * size);
    expect(await saved()).toEqual([...table.sites.values()]);
  });

  it("keeps its sites when the file cannot be written, and writes it whole as soon as it can", async () => {
    const table = await SavedTable.read(path);
    await table.save({ sites: [site("a")] });
    await rm(path);
    await mkdir(path);
    await expect(table.save({ put: site("b") })).rejects.toMatchObject({ code: "engine.failed" });
    expect([...table.sites.values()]).toEqual([site("a")]);
    await rm(path, { recursive: true });
    await table.save({ put: site("c") });
    expect(await saved()).toEqual([site("a"), site("c")]);
  });
});
