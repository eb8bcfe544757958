import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { pidsWithEnv, processStat, spawnDetached } from "@berth/host";
import { eventually } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { markerOf } from "./environment.ts";
import { runPaths } from "./paths.ts";
import { FAST_SETTINGS, io, newRef } from "./process.fixture.ts";
import { readResult, shimArgv } from "./shim.ts";
import { processSuite } from "./suite.fixture.ts";

const suite = processSuite();
const { newSpec, started, state, lines, ask } = suite;

describe("a crash loop", () => {
  test("is tried again and again with growing delays, and ends with a stop", async () => {
    const restart = { delayMsMin: 40, delayMsMax: 160, stableSeconds: 10 };
    const engine = await suite.reopen({ settings: { ...FAST_SETTINGS, restart } });
    const spec = await newSpec({ run: "echo run; exit 3" });
    const times: number[] = [];
    const states = new Set<string>();
    engine.onStateChange((changed) => {
      states.add(changed.state);
      if (changed.state === "running") times.push(Date.now());
    });
    await engine.start(spec, io());
    await eventually(async () => expect((await state(spec)).restartCount).toBeGreaterThanOrEqual(5));
    expect(states).toEqual(new Set(["running", "restarting"]));
    const delays = times.slice(1).map((time, at) => time - (times[at] ?? 0));
    for (const [at, least] of [40, 80, 160, 160].entries()) expect(delays[at]).toBeGreaterThanOrEqual(least);
    await engine.stop(spec, { graceSeconds: 1 });
    const stopped = await state(spec);
    expect(stopped).toMatchObject({ state: "exited", exitCode: 3 });
    // A second release shows that the longest delay has passed, so no restart can follow.
    const other = await newSpec({ ref: newRef("other"), run: "exit 3" });
    await engine.start(other, io());
    await eventually(async () => expect((await state(other)).restartCount).toBeGreaterThanOrEqual(5));
    await engine.stop(other, { graceSeconds: 1 });
    expect(await state(spec)).toEqual(stopped);
  });

  test("is over when the application has run for long enough", async () => {
    const restart = { delayMsMin: 500, delayMsMax: 600_000, stableSeconds: 0 };
    const engine = await suite.reopen({ settings: { ...FAST_SETTINGS, restart } });
    const spec = await newSpec({ run: "exit 0" });
    await engine.start(spec, io());
    // If it doubled each time, the delays before the tenth restart would be longer than this waits.
    await eventually(async () => expect((await state(spec)).restartCount).toBeGreaterThanOrEqual(10));
  });
});

describe("stop", () => {
  const COUNTING = `
    let count = 0;
    process.on("SIGTERM", () => { count++; setTimeout(() => { console.log("asked " + count); process.exit(6); }, 300); });
    console.log("ready");
    setInterval(() => {}, 1000);`;

  test.each([
    ["alone", "node count.mjs"],
    ["under a shell", "node count.mjs; exit $?"],
    ["under npm", "npm start"],
    ["under pnpm", "pnpm start"],
    ["under yarn", "yarn start"],
  ])("asks an application once that runs %s", async (_, run) => {
    const packageJson = JSON.stringify({ name: "x", version: "1.0.0", scripts: { start: "node count.mjs" } });
    const spec = await newSpec({ files: { "count.mjs": COUNTING, "package.json": packageJson }, run });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toContain("ready"));
    await suite.engine.stop(spec, { graceSeconds: 10 });
    expect(await lines(spec)).toContain("asked 1");
    expect(await state(spec)).toMatchObject({ state: "exited", exitCode: expect.toSatisfy((code) => code !== 137) });
  });

  const without = { cgroupRoot: "/nonexistent" };
  test.each([
    ["by its cgroup", {}, {}],
    ["where there are no cgroups", without, without],
    ["that was started before there were cgroups", without, {}],
  ])("kills what does not end within its grace, and what went to the background, %s", async (_, before, after) => {
    const run =
      "trap '' TERM; (trap '' TERM; setsid sleep 301) & setsid sleep 302 & sleep 303 & echo ready; wait; sleep 304";
    await suite.reopen(before);
    const spec = await newSpec({ run });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toContain("ready"));
    const pids = await eventually(() => {
      const found = pidsWithEnv(markerOf(spec));
      expect(found.length).toBeGreaterThanOrEqual(5);
      return found;
    });
    await suite.reopen(after);
    await suite.engine.stop(spec, { graceSeconds: 0.5 });
    expect(pids.filter((pid) => processStat(pid) !== undefined)).toEqual([]);
    expect(await state(spec)).toMatchObject({ state: "exited", exitCode: 137 });
  });

  test("keeps what the application says last", async () => {
    const run = `trap 'i=0; while [ $i -lt 2000 ]; do echo "bye $i"; i=$((i+1)); done; exit 0' TERM; echo ready; while :; do sleep 0.05; done`;
    const spec = await newSpec({ run });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toContain("ready"));
    await suite.engine.stop(spec, { graceSeconds: 10 });
    expect((await lines(spec)).at(-1)).toBe("bye 1999");
  });
});

describe("output", () => {
  test("goes to the log also through /dev/stdout and /dev/stderr, and cuts nothing", async () => {
    const run = "echo one; echo two >/dev/stdout; echo three | tee /dev/stderr >/dev/null; printf open; exec sleep 300";
    const spec = await newSpec({ run });
    await suite.engine.start(spec, io());
    await eventually(async () => expect(await lines(spec)).toEqual(["one", "two", "three"]));
    await suite.engine.stop(spec, { graceSeconds: 5 });
    expect(await lines(spec)).toEqual(["one", "two", "three", "open"]);
  });

  test("costs nothing but its lines when the disk is full", async () => {
    const folder = suite.world.root;
    const script = `i=0; while [ $i -lt 3000 ]; do echo "line $i of a log that has no place"; i=$((i+1)); done; exit 5`;
    const child = await spawnDetached(shimArgv(["/bin/sh", "-c", script], "unlimited"), {
      env: {},
      logFile: "/dev/full",
      resultFile: join(folder, "result"),
      isGated: true,
    });
    child.open();
    await eventually(() => expect(readResult(join(folder, "result"))).toBe(5));
    await child.exitCode;
  });

  test("is rotated while it is written, and not a line is lost", async () => {
    const engine = await suite.reopen({
      settings: { ...FAST_SETTINGS, log: { maxBytes: 20_000, rotatedFiles: 1000 } },
    });
    const count = 50_000;
    // Slow enough to be rotated many times while it is written.
    const script = `
      let i = 0;
      const timer = setInterval(() => {
        for (const end = i + 100; i < end; i++) console.log("line " + i);
        if (i === ${count}) clearInterval(timer);
      }, 4);
      setInterval(() => {}, 1000);`;
    const spec = await newSpec({ files: { "write.mjs": script }, run: "node write.mjs" });
    const seen: string[] = [];
    await engine.start(spec, io());
    const stop = new AbortController();
    const following = (async () => {
      for await (const { line } of engine.logs(spec, { follow: true, signal: stop.signal })) seen.push(line);
    })();
    await eventually(() => expect(seen).toHaveLength(count));
    stop.abort();
    await following;
    expect(seen.every((line, at) => line === `line ${at}`)).toBe(true);
    const { log } = runPaths(suite.world.dataFolder, spec);
    const rotated = readdirSync(dirname(log)).filter((name) => /^log\.\d+$/.test(name));
    // How often depends on how fast it was written.
    expect(rotated.length).toBeGreaterThan(1);
    expect((await lines(spec)).length).toBe(count);
  });
});

describe("port", () => {
  test("is another one when somebody else has taken it", async () => {
    const { spec, port } = await started();
    await suite.engine.stop(spec, { graceSeconds: 5 });
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(port, "127.0.0.1", resolve));
    const { upstream } = await suite.engine.start(spec, io());
    expect(upstream?.port).not.toBe(port);
    await ask(upstream?.port, "pid");
    squatter.close();
  });

  test("is never given to two releases, and refused when there is none", async () => {
    const engine = await suite.reopen({ settings: { ...FAST_SETTINGS, ports: { first: 19_970, last: 19_972 } } });
    const specs = await Promise.all([1, 2, 3, 4].map((n) => newSpec({ ref: newRef(`p-${n}`) })));
    const results = await Promise.allSettled(specs.map((spec) => engine.start(spec, io())));
    const ports = results.flatMap((one) => (one.status === "fulfilled" ? [one.value.upstream?.port] : []));
    expect(new Set(ports)).toEqual(new Set([19_970, 19_971, 19_972]));
    const failed = results.find((one) => one.status === "rejected");
    expect(failed?.reason).toMatchObject({ code: "deploy.start_failed" });
  });

  test("of an application that listens elsewhere is told apart", async () => {
    const run = `node -e 'require("http").createServer().listen(0, () => console.log("on"))'`;
    const spec = await newSpec({ run });
    const { upstream } = await suite.engine.start(spec, io());
    const [{ port } = { port: 0 }] = await eventually(async () => {
      const ports = await suite.engine.listeningPorts(spec);
      expect(ports).toHaveLength(1);
      return ports;
    });
    expect(port).not.toBe(upstream?.port);
  });
});

test("an application without ports has no upstream", async () => {
  const spec = await newSpec({ ports: [], run: "exec sleep 300" });
  expect(await suite.engine.start(spec, io())).toMatchObject({ state: "running", upstream: null });
});

test("serves static files under the application's own user", async () => {
  const files = { "public/index.html": "home" };
  for (const isSpa of [true, false]) {
    const spec = await newSpec({ files, run: { type: "static", root: "public", isSpa }, ports: [] });
    const { upstream } = await suite.engine.start(spec, io());
    expect(await ask(upstream?.port, "")).toBe("home");
    const missing = await fetch(`http://127.0.0.1:${upstream?.port}/some/page`);
    expect(missing.status).toBe(isSpa ? 200 : 404);
    await suite.engine.stop(spec, { graceSeconds: 10 });
    expect(await state(spec)).toMatchObject({ exitCode: 0 });
  }
});

test("says what a release uses, and nothing while it does not run", async () => {
  const { spec } = await started();
  const usage = await suite.engine.usage(spec);
  expect(usage?.processes).toBeGreaterThanOrEqual(2);
  expect(usage?.memoryBytes).toBeGreaterThan(5 << 20);
  expect(usage?.cpuSeconds).toBeGreaterThan(0);
  await suite.engine.stop(spec, { graceSeconds: 10 });
  expect(await suite.engine.usage(spec)).toBeUndefined();
  expect(await suite.engine.usage({ resourceUuid: "app", deploymentUuid: "none" })).toBeUndefined();
});
