import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "./local.ts";
import { isRoot } from "./user.ts";

const NOBODY = { uid: 65_534, gid: 65_534 };

describe.skipIf(!isRoot())("a sandbox (of a server started by root)", () => {
  let top = "";
  let hidden = "";
  beforeAll(() => {
    // Not below /tmp, which is hidden anyway.
    top = mkdtempSync("/var/lib/berth-sandbox-");
    chmodSync(top, 0o755);
    // Signs that have a meaning in a table of mounts.
    hidden = join(top, "a folder\\040 of #1\tand\nmore");
    for (const name of ["stage", "own", "other"]) mkdirSync(join(hidden, name), { recursive: true, mode: 0o755 });
    writeFileSync(join(hidden, "own", "file"), "mine");
    writeFileSync(join(hidden, "other", "file"), "not mine");
  });
  afterAll(() => rmSync(top, { recursive: true, force: true }));

  const inside = async (script: string) => {
    const visible = [join(hidden, "own")];
    const sandbox = { create: { stage: join(hidden, "stage"), hidden, visible } };
    return await run(["/bin/sh", "-c", script, hidden], { env: {}, programEnv: {}, user: NOBODY, sandbox, cwd: "/" });
  };

  test("shows of a hidden folder what is visible alone, whatever signs its path has", async () => {
    const { output } = await inside('cat "$0/own/file"; [ -e "$0/other" ] || echo " alone"');
    expect(output).toBe("mine alone\n");
  });

  test("has an empty /tmp of its own", async () => {
    expect(
      (await inside("touch /tmp/file && ls /tmp /var/tmp | grep file; [ -e /proc/1 ] || echo hidden")).output,
    ).toBe("file\nfile\nhidden\n");
  });

  test("leaves a program its own exit code, also that of a folder that cannot be entered", async () => {
    expect((await inside("exit 125")).exitCode).toBe(125);
  });
});
