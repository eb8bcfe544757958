import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { launcher } from "./launcher/launcher.ts";
import { spawnHere } from "./own-spawn.ts";
import { processStat } from "./procfs.ts";
import type { ProgramRequest } from "./program.ts";
import { isRoot } from "./user.ts";

const launched = launcher({ otherwise: spawnHere, temporaryFolder: tmpdir() });
afterAll(() => launched.close());

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-program-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const shell = (script: string, more: Partial<ProgramRequest> = {}): ProgramRequest => ({
  argv: ["/bin/sh", "-c", script],
  env: { PATH: "/usr/local/bin:/usr/bin:/bin" },
  ids: {},
  stdio: ["pipe", "pipe", "pipe"],
  cgroupFiles: [],
  ...more,
});

const all = (stream: Readable | null) => text(stream ?? Readable.from([]));

describe.each([
  { name: "Node's own spawn", start: spawnHere, parent: () => process.pid },
  { name: "the launcher", start: launched.start, parent: launched.pid },
])("a program started by $name", ({ start, parent }) => {
  test("is a child of what starts it", async () => {
    const program = await start(shell("read -r line"));
    expect(processStat(program.pid)?.parentPid).toBe(parent());
    program.stdin?.end();
    expect(await program.exitCode).toBe(1);
  });

  test("reports its exit code, and 128 + signal", async () => {
    expect(await (await start(shell("exit 3"))).exitCode).toBe(3);
    expect(await (await start(shell("kill -KILL $$"))).exitCode).toBe(137);
  });

  test("has three separate streams", async () => {
    const program = await start(shell("cat; echo error >&2"));
    program.stdin?.end("input\n");
    expect(await Promise.all([all(program.stdout), all(program.stderr)])).toEqual(["input\n", "error\n"]);
  });

  test("loses none of a large output", async () => {
    const program = await start(shell("head -c 3000000 /dev/zero"));
    expect((await all(program.stdout)).length).toBe(3_000_000);
  });

  test("may leave its input unread, also when it has exited before", async () => {
    const program = await start(shell("exit 0"));
    await program.exitCode;
    program.stdin?.write("x".repeat(1 << 20));
    program.stdin?.end();
  });

  test("reads the end of its input while its output is open", async () => {
    const program = await start(shell("while read -r line; do echo $line; done; echo end"));
    program.stdin?.write("one\n");
    program.stdin?.end("two\n");
    expect(await all(program.stdout)).toBe("one\ntwo\nend\n");
  });

  test("has exactly the given environment, arguments and folder", async () => {
    const env = { VALUE: "a'b\"c\n$HOME `id` é\u2028\\", EMPTY: "", LONG: "x".repeat(100_000) };
    const words = ["$(id)", "a\nb", "", "'\"\\", "\u2029"];
    const argv = ["/usr/bin/env", "-0", "/bin/sh", "-c", 'env -0; pwd; printf "%s\\0" "$@"', "sh", ...words] as const;
    const program = await start(shell("", { argv: [argv[0], ...argv.slice(2)], env, cwd: folder }));
    const output = await all(program.stdout);
    const variables = output.split("\0").filter((part) => /^(VALUE|EMPTY|LONG)=/.test(part));
    expect(variables.sort()).toEqual(
      Object.entries(env)
        .map(([name, value]) => `${name}=${value}`)
        .sort(),
    );
    expect(output).not.toContain("NODE");
    expect(output.endsWith(`${folder}\n${words.map((word) => `${word}\0`).join("")}`)).toBe(true);
  });

  test("leads its own session and group, and has no other files open", async () => {
    const program = await start(shell("ps -o pid=,pgid=,sid= -p $$; ls /proc/$$/fd"));
    const [ids = "", ...files] = (await all(program.stdout)).trim().split("\n");
    expect(ids.trim().split(/\s+/)).toEqual([program.pid, program.pid, program.pid].map(String));
    expect(files.filter((file) => Number(file) < 10)).toEqual(["0", "1", "2"]);
  });

  test("appends to a file, and truncates another", async () => {
    const [log, result] = [join(folder, "log"), join(folder, "result")];
    writeFileSync(log, "before\n");
    writeFileSync(result, "a longer result of an earlier program");
    const output = { path: log, flags: "a" } as const;
    const stdio = ["ignore", output, output, { path: result, flags: "w" }] as const;
    const program = await start(shell("echo out; echo err >&2; echo done >&3; cat", { stdio }));
    expect(await program.exitCode).toBe(0);
    expect(readFileSync(log, "utf8")).toBe("before\nout\nerr\n");
    expect(readFileSync(result, "utf8")).toBe("done\n");
    expect([program.stdin, program.stdout, program.stderr]).toEqual([null, null, null]);
  });

  test("joins its groups", async () => {
    const files = [join(folder, "memory"), join(folder, "pids")];
    const program = await start(shell("read -r line", { cgroupFiles: files }));
    await program.joined;
    expect(files.map((file) => readFileSync(file, "utf8"))).toEqual([String(program.pid), String(program.pid)]);
    program.stdin?.end("go\n");
    expect(await program.exitCode).toBe(0);
  });

  test("reports a group that it cannot join", async () => {
    const program = await start(shell("read -r line", { cgroupFiles: [join(folder, "missing/group")] }));
    await expect(program.joined).rejects.toMatchObject({ code: "ENOENT" });
    program.stdin?.end("go\n");
    expect(await program.exitCode).toBe(0);
  });

  test.each([
    {
      what: "a program",
      request: shell("", { argv: ["berth-no-such-program"] }),
      syscall: "spawn berth-no-such-program",
    },
    { what: "a folder", request: shell("", { cwd: "/berth/missing" }), syscall: "spawn /bin/sh" },
    {
      what: "the folder of a file",
      request: shell("", { stdio: ["pipe", { path: "/berth/missing/log", flags: "a" }, "pipe"] }),
      syscall: "open",
    },
  ])("that lacks $what rejects with Node's error", async ({ request, syscall }) => {
    await expect(start(request)).rejects.toMatchObject({ code: "ENOENT", syscall });
  });

  test.skipIf(!isRoot())("runs with the given ids", async () => {
    const program = await start(shell("id -u; id -g", { ids: { uid: 712_345, gid: 712_346 } }));
    expect(await all(program.stdout)).toBe("712345\n712346\n");
  });

  test("is one of many at once, each with its own streams", async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => String(index));
    const outputs = numbers.map(async (number) => {
      const program = await start(shell(`cat; echo ${number}`));
      program.stdin?.end(`in ${number} `);
      return [await all(program.stdout), await program.exitCode];
    });
    expect(await Promise.all(outputs)).toEqual(numbers.map((number) => [`in ${number} ${number}\n`, 0]));
  });
});
