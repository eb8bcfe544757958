import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { isRoot, run } from "@berth/host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { prepareRuntime, pruneRuntimes, type Runtime } from "./runtime.ts";

let root: string;
let runtime: Runtime;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "berth-runtime-"));
  chmodSync(root, 0o711);
  runtime = await prepareRuntime(join(root, "runtime"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("prepareRuntime", () => {
  test.each(["node", "npm", "npx", "pnpm", "pnpx", "yarn"])("gives applications %s", async (command) => {
    const user = isRoot() ? { uid: 712_345, gid: 712_345 } : undefined;
    // `pnpx --version` would be taken as an option of the package to run.
    const argument = command === "pnpx" ? "--help" : "--version";
    const env = { PATH: `${runtime.bin}:/usr/bin:/bin`, HOME: "/nonexistent" };
    const result = await run([command, argument], { env, cwd: "/", user });
    expect(result).toMatchObject({ exitCode: 0 });
  });

  test("is the node that runs us", async () => {
    const { output } = await run([runtime.node, "--version"], { env: {} });
    expect(output.trim()).toBe(process.version);
  });

  test("is done once, also when two ask at the same time", async () => {
    const other = join(root, "other");
    const [one, two] = await Promise.all([prepareRuntime(other), prepareRuntime(other)]);
    expect(one).toEqual(two);
    expect(readdirSync(other)).toHaveLength(1);
    const { ino } = statSync(one.staticServer);
    await prepareRuntime(other);
    expect(statSync(one.staticServer).ino).toBe(ino);
  });

  test("says in one sentence that a folder cannot be written", async () => {
    const file = join(root, "file");
    writeFileSync(file, "");
    await expect(prepareRuntime(join(file, "runtime"))).rejects.toMatchObject({ code: "setup.failed" });
  });

  test("keeps what is in use and what others put there, and removes older ones", async () => {
    const folder = join(root, "prune");
    const { folder: current } = await prepareRuntime(folder);
    const [old, used, broken] = ["0123456789abcdef", "fedcba9876543210", `.0123456789abcdef-${randomUUID()}`] as const;
    for (const name of [old, used, broken, "postgres-17"]) mkdirSync(join(folder, name));
    await pruneRuntimes(folder, new Set([current, join(folder, used)]));
    expect(readdirSync(folder).sort()).toEqual([basename(current), used, "postgres-17"].sort());
  });
});
