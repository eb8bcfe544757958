import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { pidsWithEnv, spawnDetached } from "@berth/host";
import { eventually, until } from "@berth/testing";
import { describe, expect, test, vi } from "vitest";
import { markerOf } from "./environment.ts";
import { runPaths } from "./paths.ts";
import { io, newRef } from "./process.fixture.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec, started, state, lines, ask } = suite;

/** A control plane in its own process, to be killed. */
async function controlPlane(spec: ReleaseSpec) {
  const { world, runtimeFolder, engine } = suite;
  await engine.close({ stopReleases: false });
  const specFile = join(world.root, "spec.json");
  const logFile = join(world.root, "control-plane.log");
  rmSync(logFile, { force: true });
  writeFileSync(specFile, JSON.stringify(spec));
  const script = join(import.meta.dirname, "control-plane.fixture.ts");
  const argv = [process.execPath, script, world.dataFolder, runtimeFolder, specFile] as const;
  const child = await spawnDetached(argv, { env: {}, logFile });
  return {
    said: (word: string) => eventually(() => expect(readFileSync(logFile, "utf8")).toContain(word)),
    /** Nothing supervises the release until `suite.reopen()`. */
    async kill() {
      process.kill(child.pid, "SIGKILL");
      await child.exitCode;
    },
  };
}

const recordOf = (ref: ReleaseRef) => runPaths(suite.world.dataFolder, ref).record;
const readRecord = (ref: ReleaseRef) => JSON.parse(readFileSync(recordOf(ref), "utf8"));
const changeRecord = (ref: ReleaseRef, change: object) =>
  writeFileSync(recordOf(ref), JSON.stringify({ ...readRecord(ref), ...change }));

describe("kill -9 of the control plane", () => {
  test("leaves the application serving; the next one takes it over and looks after it", async () => {
    const spec = await newSpec();
    const plane = await controlPlane(spec);
    await plane.said("started");
    await plane.kill();
    const pid = await ask(readRecord(spec).port, "pid");
    const engine = await suite.reopen();
    const { upstream, startedAt } = await state(spec);
    expect(await engine.start(spec, io())).toMatchObject({ state: "running", startedAt });
    expect(await ask(upstream?.port, "pid")).toBe(pid);
    await ask(upstream?.port, "exit?code=9");
    await eventually(async () => expect(await state(spec)).toMatchObject({ restartCount: 1, exitCode: 9 }));
    expect(await ask(upstream?.port, "pid")).not.toBe(pid);
    expect(await lines(spec)).toEqual(["listening", "listening"]);
  });

  test("does not hide how an application ended that nobody watched", async () => {
    const spec = await newSpec();
    const plane = await controlPlane(spec);
    await plane.said("started");
    await plane.kill();
    const { port } = readRecord(spec);
    await ask(port, "exit?code=42");
    await eventually(() => expect(pidsWithEnv(markerOf(spec))).toEqual([]));
    const engine = await suite.reopen();
    expect(await state(spec)).toMatchObject({ state: "exited", exitCode: 42, upstream: null, restartCount: 0 });
    const again = await engine.start(spec, io());
    expect(again.upstream?.port).toBe(port);
    await ask(port, "pid");
  });

  /** What shows that the control plane has reached a moment of a start; it is killed as soon as that is seen. */
  const moments: Record<string, (spec: ReleaseSpec) => unknown> = {
    "has stored nothing": () => true,
    "has stored the release": (spec) => existsSync(recordOf(spec)),
    "has created its processes": (spec) => pidsWithEnv(markerOf(spec)).length > 0,
    "has recorded its processes": (spec) => existsSync(recordOf(spec)) && readRecord(spec).process,
  };

  test.each(Object.keys(moments))(
    "leaves nothing running that the next one does not know when it %s",
    async (moment) => {
      const spec = await newSpec({ ref: newRef("early") });
      const plane = await controlPlane(spec);
      await plane.said("opened");
      await vi.waitUntil(() => moments[moment]?.(spec), { timeout: 60_000, interval: 1 });
      await plane.kill();
      const engine = await suite.reopen();
      const known = await engine.inspect(spec);
      if (known?.state === "running" || known?.state === "restarting") await ask(readRecord(spec).port, "pid");
      else await eventually(() => expect(pidsWithEnv(markerOf(spec))).toEqual([]));
      const { upstream } = await engine.start(spec, io());
      await ask(upstream?.port ?? readRecord(spec).port, "pid");
      const starts = async () => (await lines(spec)).filter((line) => line === "listening").length;
      await until(starts);
      expect(await starts()).toBe(1);
    },
  );

  test("finishes a removal that had begun", async () => {
    const { spec } = await started();
    await suite.engine.close({ stopReleases: false });
    changeRecord(spec, { isRemoving: true });
    expect(await (await suite.reopen()).inspect(spec)).toBeUndefined();
    expect(pidsWithEnv(markerOf(spec))).toEqual([]);
    expect(existsSync(runPaths(suite.world.dataFolder, spec).folder)).toBe(false);
  });

  test("finishes a stop that had begun", async () => {
    const { spec } = await started();
    // Before that it knows no signal, and would end by it.
    await until(async () => (await lines(spec)).includes("listening"));
    await suite.engine.close({ stopReleases: false });
    changeRecord(spec, { desired: "stopped" });
    await suite.reopen();
    expect(await state(spec)).toMatchObject({ state: "exited", exitCode: 0 });
    expect((await lines(spec)).filter((line) => line === "asked to end")).toHaveLength(1);
    expect(pidsWithEnv(markerOf(spec))).toEqual([]);
  });

  test("is survived also when an application has filled the file that tells how it ended", async () => {
    const { spec } = await started();
    await suite.engine.close({ stopReleases: false });
    truncateSync(runPaths(suite.world.dataFolder, spec).result, 3 * 2 ** 30); // Larger than a JavaScript string can be.
    const engine = await suite.reopen();
    expect((await state(spec)).state).toBe("running");
    await engine.stop(spec, { graceSeconds: 5 });
    expect(suite.world.warnings).toEqual([]);
  });

  test("lets the next one take over the others when one cannot be", async () => {
    const bad = await newSpec({ ref: newRef("bad"), run: "exit 0" });
    const lost = await newSpec({ ref: newRef("lost"), run: "exit 0" });
    const { spec } = await started();
    for (const one of [bad, lost]) {
      await suite.engine.start(one, io());
      await suite.engine.stop(one, { graceSeconds: 1 });
    }
    await suite.engine.close({ stopReleases: false });
    for (const file of [recordOf(bad), runPaths(suite.world.dataFolder, lost).result]) {
      rmSync(file);
      mkdirSync(file);
    }
    changeRecord(lost, { process: { pid: process.pid, startTime: "1", bootId: "before" } });
    await suite.reopen();
    expect((await state(spec)).state).toBe("running");
    const warned = suite.world.warnings.map((warning) => JSON.stringify(warning));
    for (const one of [bad, lost]) expect(warned).toContainEqual(expect.stringContaining(one.deploymentUuid));
    rmdirSync(runPaths(suite.world.dataFolder, lost).result);
  });

  test("does not take a process for the release that got its number after a reboot", async () => {
    const { spec } = await started();
    await suite.engine.close({ stopReleases: true });
    const identity = { pid: process.pid, startTime: "1", bootId: readRecord(spec).process?.bootId ?? "before" };
    changeRecord(spec, { process: identity });
    await suite.reopen();
    expect(await state(spec)).toMatchObject({ state: "exited", upstream: null });
  });
});

describe("a clean end of the control plane", () => {
  test("stops all releases at the same time, and the next one may start them again", async () => {
    const asked = join(suite.world.root, "asked");
    mkdirSync(asked);
    chmodSync(asked, 0o777);
    const shared = { type: "folder", uuid: "asked", name: "asked", mountPath: "/asked", hostPath: asked } as const;
    // Each exits only after all of them received the signal.
    const end = `touch ${asked}/$$; until [ $(ls ${asked} | wc -l) = 4 ]; do sleep 0.05; done; exit 7`;
    const run = `trap '${end}' TERM; echo ready; while :; do sleep 0.05; done`;
    const specs = await Promise.all(
      [1, 2, 3, 4].map((n) => newSpec({ ref: newRef(`slow-${n}`), run, storages: [shared] })),
    );
    for (const spec of specs) await suite.engine.start(spec, io());
    for (const spec of specs) await eventually(async () => expect(await lines(spec)).toContain("ready"));
    await suite.engine.close({ stopReleases: true });
    expect(specs.flatMap((spec) => pidsWithEnv(markerOf(spec)))).toEqual([]);
    const engine = await suite.reopen();
    expect((await engine.list()).map((one) => [one.state, one.exitCode])).toEqual(specs.map(() => ["exited", 7]));
    for (const spec of specs) expect(await engine.start(spec, io())).toMatchObject({ state: "running" });
  });

  test("refuses what comes after it", async () => {
    const { engine } = suite;
    await engine.close({ stopReleases: false });
    await expect(engine.list()).rejects.toMatchObject({ code: "engine.unreachable" });
    await suite.reopen();
  });
});

describe("a data folder", () => {
  test("is refused to a second engine", async () => {
    await suite.engine.open();
    await expect(suite.world.engine().open()).rejects.toMatchObject({ code: "setup.failed" });
  });

  test("is taken over from an engine that died", async () => {
    const { spec } = await started();
    await suite.engine.close({ stopReleases: false });
    // The process id in the file now belongs to another process.
    writeFileSync(join(suite.world.dataFolder, "applications.lock.pid"), `${process.pid}\n`);
    await suite.reopen();
    expect((await state(spec)).state).toBe("running");
  });
});
