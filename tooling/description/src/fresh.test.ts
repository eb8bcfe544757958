import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FILES = ["openapi.json", "openapi.yaml"] as const;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-description-"));
  for (const name of FILES) copyFileSync(join(ROOT, name), join(folder, name));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const check = () =>
  spawnSync(process.execPath, ["tooling/openapi/write.ts", "--check", folder], { cwd: ROOT, encoding: "utf8" });

test("[S02] the committed description is what the code says, and the check of CI fails when it is stale", () => {
  expect(check()).toMatchObject({ status: 0, stderr: "" });
  for (const name of FILES) {
    const committed = readFileSync(join(folder, name), "utf8");
    writeFileSync(join(folder, name), committed.replace("List applications", "List apps"));
    expect(check()).toMatchObject({ status: 1, stderr: expect.stringContaining(`${name} differs`) });
    writeFileSync(join(folder, name), committed);
  }
  expect(readFileSync(join(ROOT, "tooling/check.mjs"), "utf8")).toContain('"tooling/openapi/write.ts", "--check"');
});
