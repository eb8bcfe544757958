import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type SourceBench, sourceBench } from "./source.fixture.ts";
import { rawTar, streamOf } from "./tar.fixture.ts";

let bench: SourceBench;
beforeEach(() => {
  bench = sourceBench();
});
afterEach(() => bench.close());

const age = (path: string, hours: number) => {
  const at = Date.now() / 1000 - hours * 3600;
  utimesSync(path, at, at);
};

test("a login that a killed process has left is removed by the next checkout, one in use is not", async () => {
  const folder = join(bench.base, "sources", "tmp");
  for (const name of ["git-left", "git-used"]) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "password"), "secret");
  }
  age(join(folder, "git-left"), 1);
  bench.repository.commit({ a: "1" });
  await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
  expect(readdirSync(folder)).toEqual(["git-used"]);
});

test("an upload that a killed process has left is removed by the next, one under way is not", async () => {
  const folder = join(bench.base, "sources", "uploads", "app");
  mkdirSync(folder, { recursive: true });
  for (const name of [".incoming-1-left", ".incoming-1-used"]) writeFileSync(join(folder, name), "half");
  age(join(folder, ".incoming-1-left"), 25);
  await bench.fetcher().saveUpload("app", streamOf(rawTar([{ path: "a" }])));
  expect(existsSync(join(folder, ".incoming-1-left"))).toBe(false);
  expect(existsSync(join(folder, ".incoming-1-used"))).toBe(true);
});

test("a repository that nobody has fetched for a month takes no space any more, one in use stays", async () => {
  const folder = join(bench.base, "sources", "mirrors");
  bench.repository.commit({ a: "1" });
  await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
  const [used = ""] = readdirSync(folder);
  mkdirSync(join(folder, "unused"));
  age(join(folder, "unused"), 31 * 24);
  age(join(folder, used), 29 * 24);
  await bench.fetcher().checkout(bench.spec(), "d2", bench.io());
  expect(readdirSync(folder)).toEqual([used]);
  expect(Date.now() - statSync(join(folder, used)).mtimeMs).toBeLessThan(3600_000);
});
