import { type StdioOptions, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { eventually } from "@berth/testing";
import { afterEach, describe, expect, test } from "vitest";
import { run } from "../local.ts";
import { spawnHere } from "../own-spawn.ts";
import { commandLine, processStat } from "../procfs.ts";
import type { Program, ProgramRequest } from "../program.ts";
import { startProgramsBy } from "../spawn.ts";
import { type Launcher, type LauncherOptions, launcher } from "./launcher.ts";

const FIXTURE = fileURLToPath(new URL("./launcher.fixture.ts", import.meta.url));
const NO_FILES_LEFT = fileURLToPath(new URL("./no-files-left.fixture.ts", import.meta.url));
const opened: Launcher[] = [];
const programs: Program[] = [];
afterEach(() => {
  startProgramsBy(spawnHere);
  for (const one of opened.splice(0)) one.close();
  for (const { pid } of programs.splice(0)) if (isRunning(pid)) process.kill(pid, "SIGKILL");
});

function newLauncher(options: Partial<LauncherOptions> = {}): Launcher {
  const made = launcher({ otherwise: spawnHere, temporaryFolder: tmpdir(), ...options });
  opened.push(made);
  return made;
}

const PLAIN = { env: {}, ids: {}, cgroupFiles: [] } satisfies Partial<ProgramRequest>;
const CAT = { ...PLAIN, argv: ["/bin/cat"], stdio: ["pipe", "pipe", "ignore"] } satisfies ProgramRequest;
const SLEEP = {
  ...PLAIN,
  argv: ["/bin/sleep", "300"],
  stdio: ["ignore", "ignore", "ignore"],
} satisfies ProgramRequest;

async function started(by: Launcher, request: ProgramRequest): Promise<Program> {
  const program = await by.start(request);
  programs.push(program);
  return program;
}

const isRunning = (pid: number | undefined) => pid !== undefined && processStat(pid) !== undefined;
const folderOf = (pid: number | undefined) => commandLine(pid ?? 0).at(-1) ?? "";

describe("the launcher", () => {
  test("starts with the first program, once for many at the same moment", async () => {
    const by = newLauncher();
    expect(by.pid()).toBeUndefined();
    const all = await Promise.all([CAT, CAT, CAT].map((request) => started(by, request)));
    expect(all.map(({ pid }) => processStat(pid)?.parentPid)).toEqual([by.pid(), by.pid(), by.pid()]);
  });

  test("knows no variable, and is told none where other users see it", async () => {
    const by = newLauncher();
    process.env.BERTH_TEST_LEAK = "secret-of-ours";
    try {
      await started(by, { ...CAT, env: { TOKEN: "secret-of-a-program" } });
    } finally {
      delete process.env.BERTH_TEST_LEAK;
    }
    expect(readFileSync(`/proc/${by.pid()}/environ`, "utf8")).toBe("");
    expect(readFileSync(`/proc/${by.pid()}/cmdline`, "utf8")).not.toContain("secret");
    expect(statSync(folderOf(by.pid())).mode & 0o777).toBe(0o700);
  });

  test("connects nobody who does not know the token of a pipe", async () => {
    const by = newLauncher();
    const program = await started(by, CAT);
    const stranger = connect(join(folderOf(by.pid()), "pipes"));
    stranger.write("0".repeat(36));
    expect(await text(stranger)).toBe("");
    program.stdin?.end("ours");
    if (program.stdout !== null) expect(await text(program.stdout)).toBe("ours");
  });

  test("that is killed leaves the end of its programs unknown, and the next one starts another", async () => {
    const by = newLauncher();
    const program = await started(by, CAT);
    const first = by.pid();
    process.kill(first ?? 0, "SIGKILL");
    await expect(program.exitCode).rejects.toMatchObject({
      code: "engine.failed",
      message: expect.stringContaining("The process that starts programs ended"),
    });
    const next = await started(by, CAT);
    expect(by.pid()).not.toBe(first);
    next.stdin?.end();
    expect(await next.exitCode).toBe(0);
  });

  test("that is killed fails what is run, of which nothing stays", async () => {
    const by = newLauncher();
    startProgramsBy(by.start);
    let pid = 0;
    const running = run(["/bin/sh", "-c", "echo begun; sleep 300; true"], {
      env: {},
      onStart: (started) => {
        pid = started;
      },
      onLine: () => process.kill(by.pid() ?? 0, "SIGKILL"),
    });
    await expect(running).rejects.toMatchObject({ code: "engine.failed" });
    expect(isRunning(pid)).toBe(false);
  });

  test("that no longer answers is given up: what waits for it fails, and the next one starts another", async () => {
    const by = newLauncher({ pingSeconds: 0.5 });
    startProgramsBy(by.start);
    let first: number | undefined;
    const onStart = () => {
      first = by.pid();
      process.kill(first ?? 0, "SIGSTOP");
    };
    const running = run(["/bin/sleep", "300"], { env: {}, onStart });
    await expect(running).rejects.toMatchObject({ code: "engine.failed" });
    expect(first).toBeDefined();
    await eventually(() => expect(isRunning(first)).toBe(false));
    expect((await run(["/bin/true"], { env: {} })).exitCode).toBe(0);
  });

  test("is not given up while it answers", async () => {
    const by = newLauncher({ pingSeconds: 0.5 });
    const program = await started(by, { ...SLEEP, argv: ["/bin/sleep", "3"] });
    expect(await program.exitCode).toBe(0);
  });

  test("ends once nobody waits for a program, and programs that outlive it continue", async () => {
    const by = newLauncher({ idleSeconds: 0.05 });
    const held = await started(by, CAT);
    const first = by.pid();
    const lasting = await started(by, SLEEP);
    lasting.unref();
    // Far longer than it may be idle, which it is not yet.
    expect(await (await by.start({ ...SLEEP, argv: ["/bin/sleep", "0.3"] })).exitCode).toBe(0);
    expect(by.pid()).toBe(first);
    held.stdin?.end();
    await eventually(() => expect(isRunning(first)).toBe(false));
    expect(by.pid()).toBeUndefined();
    expect(isRunning(lasting.pid)).toBe(true);
    await started(by, CAT);
    expect(isRunning(by.pid())).toBe(true);
  });

  test("ends with the process that it works for, also when that is killed", async () => {
    const owner = spawn(process.execPath, [FIXTURE, "stays"], { stdio: ["ignore", "pipe", "inherit"] });
    const [line] = await new Promise<string[]>((resolve) => owner.stdout.once("data", (text) => resolve([`${text}`])));
    const pids = JSON.parse(line ?? "") as Record<"launcher" | "lasting" | "piped", number>;
    const folder = folderOf(pids.launcher);
    expect(existsSync(folder)).toBe(true);
    owner.kill("SIGKILL");
    await eventually(() => expect([pids.launcher, pids.piped].filter(isRunning)).toEqual([]));
    expect(existsSync(folder)).toBe(false);
    expect(isRunning(pids.lasting)).toBe(true);
    process.kill(pids.lasting, "SIGKILL");
  });

  test("passes no file on that the server inherited from what started it", async () => {
    const [log, far] = [openSync("/dev/null", "r"), 40] as const;
    const stdio: StdioOptions = ["ignore", "pipe", "inherit", ...Array<"ignore">(far - 3).fill("ignore"), log];
    const owner = spawn(process.execPath, [FIXTURE, "stays"], { stdio });
    closeSync(log);
    const line = await new Promise<string>((resolve) => owner.stdout?.once("data", (data) => resolve(`${data}`)));
    const pids = JSON.parse(line) as Record<"lasting" | "piped", number>;
    const files = (pid: number | undefined) => readdirSync(`/proc/${pid}/fd`);
    expect(files(owner.pid)).toContain(String(far));
    expect([files(pids.lasting), files(pids.piped)]).toEqual([
      ["0", "1", "2"],
      ["0", "1", "2"],
    ]);
    owner.kill("SIGKILL");
    process.kill(pids.lasting, "SIGKILL");
  });

  test("keeps no process running that waits for nothing", async () => {
    const { exitCode, output } = await run([process.execPath, FIXTURE, "ends"], { env: {}, timeoutSeconds: 30 });
    expect(exitCode).toBe(0);
    const { lasting } = JSON.parse(output) as { readonly lasting: number };
    expect(isRunning(lasting)).toBe(true);
    process.kill(lasting, "SIGKILL");
  });

  test("is not asked for a program with more variables than Linux allows, and survives as many as it allows", async () => {
    const by = newLauncher();
    startProgramsBy(by.start);
    const variables = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`V${n}`, "x".repeat(100_000)]));
    const refused = { code: "engine.failed", message: expect.stringContaining("longer than Linux allows") };
    await expect(run(["/bin/true"], { env: variables(500) })).rejects.toMatchObject(refused);
    expect(by.pid()).toBeUndefined();
    await expect(run(["/bin/true"], { env: { LONG: "x".repeat(140_000) } })).rejects.toMatchObject(refused);
    const first = by.pid();
    const fitting = Array.from({ length: 20 }, () => run(["/bin/true"], { env: variables(20) }));
    for (const { exitCode } of await Promise.all(fitting)) expect(exitCode).toBe(0);
    expect(by.pid()).toBe(first);
  });

  test("leaves it to us where its process cannot be started", async () => {
    const warnings: string[] = [];
    const by = newLauncher({ nodePath: "/berth/no-such-node", warn: (message) => warnings.push(message) });
    const both = [await started(by, CAT), await started(by, CAT)];
    expect(both.map(({ pid }) => processStat(pid)?.parentPid)).toEqual([process.pid, process.pid]);
    expect(warnings).toHaveLength(1);
  });

  test("leaves a program to us that it cannot connect, as when somebody removed its socket", async () => {
    const by = newLauncher();
    await started(by, CAT);
    const first = by.pid();
    rmSync(join(folderOf(first), "pipes"));
    const program = await started(by, CAT);
    expect(processStat(program.pid)?.parentPid).toBe(process.pid);
    program.stdin?.end("ours");
    if (program.stdout !== null) expect(await text(program.stdout)).toBe("ours");
    // It serves those that have no pipe.
    expect(processStat((await started(by, SLEEP)).pid)?.parentPid).toBe(first);
  });

  test("reports that no file can be opened to who starts a program, and to nobody else", async () => {
    const limited = 'ulimit -n 100 && exec "$@"';
    const argv = ["/bin/sh", "-c", limited, "sh", process.execPath, NO_FILES_LEFT] as const;
    const { output } = await run(argv, { env: {}, timeoutSeconds: 30 });
    expect(JSON.parse(output)).toEqual({ outcomes: ["EMFILE", "EMFILE", "EMFILE", "EMFILE"], unhandled: [] });
  });
});
