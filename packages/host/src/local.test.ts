import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { eventually } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { spawnDetached } from "./detached.ts";
import { endGroup } from "./group.ts";
import { run } from "./local.ts";
import { pidsWithEnv, processStat } from "./procfs.ts";
import { spawnAs } from "./spawn.ts";
import { isRoot } from "./user.ts";

const env = { PATH: "/usr/local/bin:/usr/bin:/bin" };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-host-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const isRunning = (file: string) => processStat(Number(readFileSync(join(folder, file), "utf8"))) !== undefined;

describe("run", () => {
  test("answers exit code and output, and hands on each line with its stream", async () => {
    const lines: string[] = [];
    const result = await run(["sh", "-c", "echo out; echo err >&2; exit 3"], {
      env,
      onLine: (line, stream) => lines.push(`${stream}: ${line}`),
    });
    expect(result).toMatchObject({ exitCode: 3, isTimedOut: false, isTruncated: false });
    expect(lines.sort()).toEqual(["stderr: err", "stdout: out"]);
  });

  test("gives the child exactly the environment it was given", async () => {
    process.env.BERTH_TEST_LEAK = "secret";
    try {
      const value = "a'b\"c\n$HOME `id` é\\";
      const { output } = await run(["/usr/bin/env", "-0"], { env: { VALUE: value, EMPTY: "" } });
      expect(output.split("\0").filter(Boolean).sort()).toEqual(["EMPTY=", `VALUE=${value}`]);
    } finally {
      delete process.env.BERTH_TEST_LEAK;
    }
  });

  test("passes hostile arguments on untouched", async () => {
    const words = ["$(touch marker)", "; touch marker", "`touch marker`", "a\nb", "--", "", "'\"\\"];
    const { output } = await run(["printf", "%s\\0", ...words], { env, cwd: folder });
    expect(output.split("\0").slice(0, -1)).toEqual(words);
    expect(existsSync(join(folder, "marker"))).toBe(false);
  });

  test("feeds standard input, and does not mind a program that leaves it unread", async () => {
    expect(await run(["cat"], { env, stdin: "hello" })).toMatchObject({ output: "hello", exitCode: 0 });
    expect(await run(["true"], { env, stdin: "x".repeat(1 << 20) })).toMatchObject({ exitCode: 0 });
    const { output } = await run(["cat"], { env, stdin: Readable.from(["a", "b"]) });
    expect(output).toBe("ab");
  });

  test("does not take a broken input for a whole one", async () => {
    const stdin = new Readable({ read() {} });
    stdin.push("half");
    const running = run(["cat"], { env, stdin });
    stdin.destroy(new Error("connection lost"));
    await expect(running).rejects.toMatchObject({ code: "engine.failed" });
  });

  test("hands standard output on as bytes with back-pressure", async () => {
    let bytes = 0;
    const slow = new Writable({
      write: (chunk, _encoding, done) => {
        bytes += chunk.length;
        setImmediate(done);
      },
    });
    const result = await run(["head", "-c", "3000000", "/dev/zero"], { env, stdout: slow });
    expect(result).toMatchObject({ exitCode: 0, output: "" });
    expect(bytes).toBe(3_000_000);
    expect(slow.writableFinished).toBe(true);
  });

  test("keeps the beginning of a long output only", async () => {
    const result = await run(["sh", "-c", "printf 'ééééé'"], { env, maxOutputBytes: 5 });
    expect(result).toMatchObject({ output: "éé", isTruncated: true });
  });

  test("kills the whole group after a timeout, also what ignores the request to end", async () => {
    const script = "trap '' TERM; sleep 300 & echo $! >child; echo before; wait";
    const result = await run(["sh", "-c", script], { env, cwd: folder, timeoutSeconds: 0.3, graceSeconds: 0.2 });
    expect(result).toMatchObject({ exitCode: 124, isTimedOut: true, output: "before\n" });
    expect(isRunning("child")).toBe(false);
  });

  test("rejects after an abort only when every process is gone", async () => {
    const abort = new AbortController();
    const running = run(["sh", "-c", "sleep 300 & echo $! >child; wait"], { env, cwd: folder, signal: abort.signal });
    await eventually(() => expect(existsSync(join(folder, "child"))).toBe(true));
    abort.abort();
    await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
    expect(isRunning("child")).toBe(false);
  });

  test("starts nothing when it was aborted before", async () => {
    const running = run(["touch", "marker"], { env, cwd: folder, signal: AbortSignal.abort() });
    await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
    expect(existsSync(join(folder, "marker"))).toBe(false);
  });

  test("ends what the program left behind in its group", async () => {
    await run(["sh", "-c", "sleep 300 & echo $! >child"], { env, cwd: folder });
    expect(isRunning("child")).toBe(false);
  });

  test("ends what left the group, when it carries the marker", async () => {
    const marker = `BERTH_TEST_MARKER=${folder}`;
    await run(["sh", "-c", "setsid sleep 300 & sleep 0.2"], { env: { ...env, BERTH_TEST_MARKER: folder }, marker });
    expect(pidsWithEnv(marker)).toEqual([]);
  });

  test("does not wait for a daemon that holds the output open", async () => {
    const marked = { ...env, BERTH_TEST_MARKER: folder };
    const result = await run(["sh", "-c", "setsid sleep 300 & sleep 0.2; echo done"], { env: marked });
    expect(result.output).toBe("done\n");
    await endGroup({ others: () => pidsWithEnv(`BERTH_TEST_MARKER=${folder}`) }, 1);
  });

  test("says which program is missing", async () => {
    const running = run(["berth-no-such-program"], { env });
    await expect(running).rejects.toMatchObject({
      code: "engine.failed",
      message: expect.stringContaining("berth-no-such-program"),
    });
  });

  test.skipIf(!isRoot())("runs as another user without groups, capabilities or a way to get them", async () => {
    const script = "id -u; id -g; id -G; grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status | cut -f2";
    const { output } = await run(["sh", "-c", script], { env, user: { uid: 712_345, gid: 712_346 } });
    const none = "0000000000000000";
    expect(output.trim().split("\n")).toEqual(["712345", "712346", "712346", none, none, "1"]);
  });

  test.skipIf(!isRoot())("enters the folder as the user, so that no link leads where only root may go", async () => {
    const user = { uid: 712_345, gid: 712_345 };
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, "closed/open"), { recursive: true });
    writeFileSync(join(folder, "closed/open/file"), "secret");
    chmodSync(join(folder, "closed"), 0o700);
    symlinkSync("closed/open", join(folder, "link"));
    for (const name of ["link", "missing"]) {
      const options = { env, cwd: join(folder, name), user };
      const refusal = { code: "engine.failed", message: expect.stringContaining("working folder") };
      await expect(run(["ls"], options)).rejects.toMatchObject(refusal);
      await expect(spawnDetached(["ls"], options)).rejects.toMatchObject(refusal);
      await expect(spawnDetached(["cat"], { ...options, isGated: true })).rejects.toMatchObject(refusal);
    }
    // A link that changes after the folder was checked gives no access either.
    const options = { env, cwd: join(folder, "link"), user };
    const child = await spawnAs(["cat", "file"], options, ["ignore", "pipe", "ignore"]);
    expect(await text(child.stdout ?? Readable.from([]))).toBe("");
    const place = await run(["pwd"], { env, cwd: folder, user });
    expect(place.output).toBe(`${folder}\n`);
  });

  test.skipIf(!isRoot())("lets no variable of a user's take effect while the process is still root", async () => {
    // The loader writes a file for each executed program, owned by the user that it ran as.
    chmodSync(folder, 0o777);
    const { output } = await run(["sh", "-c", "true"], {
      env: { ...env, LD_DEBUG: "statistics", LD_DEBUG_OUTPUT: join(folder, "loader") },
      user: { uid: 712_345, gid: 712_345 },
    });
    expect(output).toBe("");
    const owners = readdirSync(folder).map((name) => statSync(join(folder, name)).uid);
    expect(new Set(owners)).toEqual(new Set([712_345]));
  });
});

describe("spawnDetached", () => {
  test("appends the output to its log and tells the exit code", async () => {
    const logFile = join(folder, "log");
    for (const text of ["one", "two"]) {
      const child = await spawnDetached(["sh", "-c", `echo ${text}; exit 7`], { env, logFile });
      expect(await child.exitCode).toBe(7);
    }
    expect(readFileSync(logFile, "utf8")).toBe("one\ntwo\n");
  });

  test("leads a group that ends as a whole", async () => {
    const child = await spawnDetached(["sh", "-c", "sleep 300 & echo $! >child; wait"], { env, cwd: folder });
    await eventually(() => expect(existsSync(join(folder, "child"))).toBe(true));
    await endGroup({ groupId: child.pid }, 1);
    expect(isRunning("child")).toBe(false);
    expect(await child.exitCode).toBe(143);
  });

  test("waits at its gate until it is opened", async () => {
    const resultFile = join(folder, "result");
    const script = "read -r go; echo $go >&3";
    const child = await spawnDetached(["sh", "-c", script], { env, resultFile, isGated: true });
    expect(readFileSync(resultFile, "utf8")).toBe("");
    child.open();
    await child.exitCode;
    expect(readFileSync(resultFile, "utf8")).toBe("go\n");
  });

  test("says which program is missing", async () => {
    await expect(spawnDetached(["berth-no-such-program"], { env })).rejects.toMatchObject({ code: "engine.failed" });
  });
});
