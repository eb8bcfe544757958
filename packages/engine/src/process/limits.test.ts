import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { commandLine, isRoot, processes, spawnDetached } from "@berth/host";
import { eventually } from "@berth/testing";
import { describe, expect, type TestContext, test } from "vitest";
import { processBuilder } from "../builder/process-builder.ts";
import { findCgroups } from "./cgroup.ts";
import { FAST_SETTINGS, io, newRef } from "./process.fixture.ts";
import { shimArgv } from "./shim.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec, state, lines } = suite;
const cgroups = findCgroups();

function notSupported(context: TestContext, what: string): void {
  console.log(`NOT_SUPPORTED ${what}: this machine offers no cgroups to us`);
  context.skip(`NOT_SUPPORTED ${what}`);
}

const BUSY = "while :; do :; done";

describe("limits", () => {
  test("of memory end what needs more, however it is spread over processes", async (context) => {
    if (!cgroups.hasMemory) return notSupported(context, "memory_limit");
    const script = "const parts = []; setInterval(() => parts.push(Buffer.alloc(5 << 20, 1)), 5);";
    const spec = await newSpec({
      files: { "eat.mjs": script },
      run: "node eat.mjs & node eat.mjs & wait -n 2>/dev/null; wait",
      limits: { memoryBytes: 200 << 20, cpus: null },
    });
    await suite.engine.start(spec, io());
    await eventually(async () => expect((await state(spec)).restartCount).toBeGreaterThan(0));
  });

  test("of processors hold", async (context) => {
    if (!cgroups.hasCpu) return notSupported(context, "cpu_limit");
    const limits = { memoryBytes: null, cpus: 0.2 };
    const spec = await newSpec({ run: `echo on; ${BUSY} & ${BUSY}`, limits });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toContain("on"));
    const before = await suite.engine.usage(spec);
    const from = Date.now();
    const usedSeconds = async () => ((await suite.engine.usage(spec))?.cpuSeconds ?? 0) - (before?.cpuSeconds ?? 0);
    await eventually(async () => expect(await usedSeconds()).toBeGreaterThan(0.2));
    expect((await usedSeconds()) / ((Date.now() - from) / 1000)).toBeLessThan(0.35);
  });

  test("of processes stop a fork bomb, and a stop ends it", async (context) => {
    if (!cgroups.hasPids) return notSupported(context, "processesMax");
    await suite.reopen({ settings: { ...FAST_SETTINGS, processesMax: 40 } });
    const script = `
      import { spawn } from "node:child_process";
      for (let i = 0; i < 200; i++) spawn("sleep", ["300"]).on("error", () => {});
      setInterval(() => {}, 1000);`;
    const spec = await newSpec({ files: { "bomb.mjs": script }, run: "node bomb.mjs" });
    await suite.engine.start(spec, io());
    await eventually(async () => expect((await suite.engine.usage(spec))?.processes).toBeGreaterThan(20));
    expect((await suite.engine.usage(spec))?.processes).toBeLessThanOrEqual(40);
    await suite.engine.stop(spec, { graceSeconds: 0.2 });
    expect(await suite.engine.usage(spec)).toBeUndefined();
  });

  test("of processes are the user's where there are no cgroups", async () => {
    const resultFile = join(suite.world.root, "result");
    const logFile = join(suite.world.root, "log");
    const argv = shimArgv(["/bin/sh", "-c", "ulimit -p 2>/dev/null || ulimit -u"], 77);
    const child = await spawnDetached(argv, { env: {}, logFile, resultFile, isGated: true });
    child.open();
    await child.exitCode;
    expect(readFileSync(logFile, "utf8")).toBe("77\n");
  });

  test("apply to scripts that run in the application too", async (context) => {
    if (!cgroups.hasPids) return notSupported(context, "processesMax");
    const spec = await newSpec({ run: "exec sleep 300" });
    await suite.engine.start(spec, io());
    const { output } = await suite.engine.exec(spec, "sleep 0.1; cat /proc/self/cgroup", { timeoutSeconds: 20 });
    expect(output).toContain(`/berth/${spec.deploymentUuid}`);
  });

  test("of processes hold for a build, and nothing of it runs on when it has ended", async (context) => {
    if (!cgroups.hasPids) return notSupported(context, "buildProcessesMax");
    const folder = join(suite.world.root, "source");
    mkdirSync(folder);
    writeFileSync(join(folder, "index.html"), "");
    await suite.reopen({ builder: processBuilder(), settings: { ...FAST_SETTINGS, buildProcessesMax: 40 } });
    const said: string[] = [];
    // Without our marker in its environment, outside the process group and the session.
    const daemon = "env -i setsid sleep 7654 & sleep 0.2; cat /proc/self/cgroup";
    const build = (install_command: string) =>
      suite.engine.build(
        {
          ...newRef(),
          resourceNumber: 90_003,
          sourceFolder: folder,
          config: { ...CONFIG, install_command },
          env: {},
          isForced: false,
        },
        { ...io(), onLine: (line) => void said.push(line) },
      );
    const artifact = await build(daemon);
    expect(said.join("\n")).toContain(`/berth/build-`);
    expect(processes().filter(({ pid }) => commandLine(pid).includes("7654"))).toEqual([]);
    expect(artifact).toMatchObject({ type: "folder" });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "index.html"), "");
    const bomb = "i=0; while [ $i -lt 100 ]; do sleep 7654 & i=$((i+1)); done; exit 3";
    await expect(build(bomb)).rejects.toMatchObject({ code: "deploy.build_failed" });
    expect(said.join("\n")).toMatch(/fork|Resource temporarily unavailable/i);
  });

  test("of memory end a build that takes more, and say so", async (context) => {
    if (!cgroups.hasMemory) return notSupported(context, "buildLimits");
    const folder = join(suite.world.root, "source");
    mkdirSync(folder);
    writeFileSync(join(folder, "index.html"), "");
    const buildLimits = { memoryBytes: 100 << 20, cpus: null };
    await suite.reopen({ builder: processBuilder(), settings: { ...FAST_SETTINGS, buildLimits } });
    const allocate = "node -e 'console.log(Buffer.alloc(300 << 20, 1).length)'";
    const fill = "head -c 300000000 /dev/zero >/tmp/filled";
    for (const install_command of [allocate, ...(isRoot() ? [fill] : [])]) {
      const building = suite.engine.build(
        {
          ...newRef(),
          resourceNumber: 90_003,
          sourceFolder: folder,
          config: { ...CONFIG, install_command },
          env: {},
          isForced: false,
        },
        io(),
      );
      await expect(building).rejects.toMatchObject({
        code: "deploy.build_failed",
        message: expect.stringContaining("BERTH_BUILD_MEMORY_PERCENT"),
      });
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "index.html"), "");
    }
  });

  test("of open files are the same whatever started the control plane; a crash leaves no core file", async () => {
    const spec = await newSpec({ run: "ulimit -c; ulimit -n; exec sleep 300" });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toHaveLength(2));
    const [core, files] = await lines(spec);
    expect(core).toBe("0");
    expect(Number(files)).toBeGreaterThan(0);
  });

  test("change with the next start", async (context) => {
    if (!cgroups.hasMemory) return notSupported(context, "memory_limit");
    const allocate = "node -e 'console.log(Buffer.alloc(300 << 20, 1).length); setInterval(() => {}, 1000)'";
    const spec = await newSpec({ run: allocate, limits: { memoryBytes: 100 << 20, cpus: null } });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await state(spec)).toMatchObject({ exitCode: 137 }));
    await suite.engine.stop(spec, { graceSeconds: 0 });
    await suite.engine.start({ ...spec, limits: { memoryBytes: null, cpus: null } }, io());
    await eventually(async () => expect((await lines(spec)).at(-1)).toBe(String(300 << 20)));
  });
});
