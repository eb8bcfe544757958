import { dockerClient } from "@berth/docker-client";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { breakableHost, slowHost } from "./broken-host.fixture.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import { createExec, endLaunched, executeIn, startExec } from "./exec.ts";
import { portsOf } from "./ports.ts";

/** Replaces the image's shell: writes endlessly, without a line end. */
const ENDLESS = `#!/usr/bin/env node
const bytes = Buffer.alloc(65536, "x");
for (const out of [process.stdout, process.stderr]) {
  if (process.argv.includes("pid")) out.write("4711\\n");
  const write = () => {
    while (out.write(bytes));
    out.once("drain", write);
  };
  write();
}`;
const PUT =
  "const fs = require('fs'); fs.writeFileSync('/sh', process.argv[1]); fs.chmodSync('/sh', 0o755); fs.renameSync('/sh', '/bin/sh')";
const ENDLESS_SHELL = `RUN ${JSON.stringify(["node", "-e", PUT, ENDLESS])}`;

/** Long enough for a program to start on a busy machine. */
const BRIEF_SECONDS = 3;

test("ports are read from the kernel's tables, without Docker's own resolver", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:0BB8 00000000:0000 0A 00000000:00000000
   1: 0B00007F:9C41 00000000:0000 0A 00000000:00000000
   2: 020011AC:0BB8 010011AC:E0F2 01 00000000:00000000
   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A`;
  expect(portsOf(table)).toEqual([{ port: 80 }, { port: 3000 }]);
});

test("ports that only a loopback address has are told apart", () => {
  const zero = "0".repeat(24);
  const rows = [
    "0100007F:0BB8",
    `${zero}00000000:0BB9`,
    "0100007F:0BB9",
    `${zero}01000000:0BBA`,
    "0000000000000000FFFF00000100007F:0BBB",
    "0100007F:0BBC",
    "020011AC:0BBC",
  ];
  const table = rows.map((local, at) => `   ${at}: ${local} 00000000:0000 0A 00000000:00000000`).join("\n");
  expect(portsOf(table)).toEqual([
    { port: 3000, loopback: "127.0.0.1" },
    { port: 3001 },
    { port: 3002, loopback: "::1" },
    { port: 3003, loopback: "127.0.0.1" },
    { port: 3004 },
  ]);
});

describeDocker("a script in a container", [...IMAGES, "debian:trixie-slim"], (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  async function started(...lines: string[]) {
    const engine = await world.engine();
    const spec = specOf(await world.image(...lines));
    await engine.start(spec, io());
    const count = async () => {
      const [found] = await world.containersOf(spec);
      const { Processes } = await world.docker.getContainer(found?.Id ?? "").top();
      return (Processes as readonly string[][]).filter((row) => row.at(-1)?.startsWith("sleep 321")).length;
    };
    return { engine, spec, count };
  }

  test("says that its container does not run also when that stops before the script starts", async () => {
    const { spec } = await started();
    const [found] = await world.containersOf(spec);
    const container = world.docker.getContainer(found?.Id ?? "");
    const launched = await createExec(container, { Cmd: ["true"] });
    await container.kill();
    await container.wait();
    await expect(startExec(launched, { hijack: false, stdin: false })).rejects.toMatchObject({
      code: "resource.not_running",
      message: expect.stringContaining("Start it first"),
    });
  });

  test("is gone with all it started when its time is over", async () => {
    const { engine, spec, count } = await started("USER node");
    const result = await engine.exec(spec, "echo a; (sleep 321 & sleep 321); echo b", {
      timeoutSeconds: BRIEF_SECONDS,
    });
    expect(result).toEqual({ exitCode: 124, output: "a\n", isTruncated: false });
    await eventually(async () => expect(await count()).toBe(0));
  });

  test("is gone with all it started where the shell is dash", async () => {
    const container = await fixture.client.createContainer({
      Image: "debian:trixie-slim",
      Cmd: ["sleep", "600"],
      Labels: fixture.labels,
      HostConfig: { Init: true },
    });
    await container.start();
    await executeIn(world.docker, container.id, "sleep 321 & sleep 321; true", { timeoutSeconds: 1 });
    await eventually(async () => {
      const { Processes } = await container.top();
      expect((Processes as readonly string[][]).filter((row) => row.at(-1)?.includes("321"))).toEqual([]);
    });
    await container.remove({ force: true });
  });

  test("is gone when it is cancelled", async () => {
    const { engine, spec, count } = await started();
    const stop = new AbortController();
    const running = engine.exec(spec, "sleep 321", { timeoutSeconds: 60, signal: stop.signal });
    await eventually(async () => expect(await count()).toBeGreaterThan(0));
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
    await eventually(async () => expect(await count()).toBe(0));
  });

  test("that leaves something behind does not wait for it", async () => {
    const { engine, spec } = await started();
    const result = await engine.exec(spec, "sleep 321 & echo done", { timeoutSeconds: 30 });
    expect(result).toMatchObject({ exitCode: 0, output: "done\n" });
  });

  test("tells its lines while it runs", async () => {
    const { engine, spec } = await started();
    const stop = new AbortController();
    const lines: string[] = [];
    const options = { timeoutSeconds: 60, signal: stop.signal, onLine: (line: string) => void lines.push(line) };
    const running = engine.exec(spec, "echo one; printf 'tw'; echo o; sleep 321", options);
    await eventually(() => expect(lines).toEqual(["one", "two"]));
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "deploy.cancelled" });
  });

  test("keeps its output in order and cuts it between characters", async () => {
    const { engine, spec } = await started();
    const ordered = await engine.exec(spec, "for i in 1 2 3; do echo out $i; done", { timeoutSeconds: 20 });
    expect(ordered.output).toBe("out 1\nout 2\nout 3\n");
    const cut = await engine.exec(spec, "printf 'ééé'", { timeoutSeconds: 20, maxOutputBytes: 3 });
    expect(cut).toMatchObject({ output: "é", isTruncated: true });
  });

  test.each(["goes on", "was ended by its engine"])(
    "is gone with all it started once its connection, which broke off, is back, when its shell %s",
    async (how) => {
      const { engine, spec, count } = await started();
      const [found] = await world.containersOf(spec);
      const connection = breakableHost();
      const pids: string[] = [];
      const options = { timeoutSeconds: 600, onLine: (line: string) => void pids.push(line) };
      const script = "echo $$; sleep 321 & sleep 321; true";
      const running = executeIn(dockerClient(connection.host), found?.Id ?? "", script, options);
      const failed = running.catch((cause: unknown) => cause);
      await eventually(async () => expect([pids.length, await count()]).toEqual([1, 2]));
      connection.cut();
      expect(await failed).toMatchObject({ code: expect.stringMatching(/^(engine|server)\.unreachable$/) });
      if (how !== "goes on") await engine.exec(spec, `kill -KILL ${pids[0]}`, { timeoutSeconds: 20 });
      expect(await count()).toBe(2);
      connection.mend();
      await eventually(async () => expect(await count()).toBe(0));
    },
  );

  test("ends nothing that has its number after it has ended or after its container was started anew", async () => {
    const { engine, spec, count } = await started();
    const [found] = await world.containersOf(spec);
    const container = world.docker.getContainer(found?.Id ?? "");
    const launch = async (...argv: string[]) => {
      const launched = await createExec(container, { Cmd: argv });
      (await launched.exec.start({})).resume();
      return launched;
    };
    const stop = new AbortController();
    const pids: string[] = [];
    const options = { timeoutSeconds: 600, signal: stop.signal, onLine: (line: string) => void pids.push(line) };
    const other = engine.exec(spec, "echo $$; sleep 321; true", options).catch(() => undefined);
    await eventually(async () => expect([pids.length, await count()]).toEqual([1, 1]));
    const [ended, running] = await Promise.all([launch("true"), launch("sleep", "322")]);
    await eventually(async () => expect((await ended.exec.inspect()).Running).toBe(false));
    await endLaunched(ended, Number(pids[0]));
    await endLaunched({ ...running, startedAt: Promise.resolve("2020-01-01T00:00:00Z") }, Number(pids[0]));
    expect(await count()).toBe(1);
    await endLaunched(running, Number(pids[0]));
    await eventually(async () => expect(await count()).toBe(0));
    stop.abort();
    await other;
  });

  test("is read to its end over a slow connection, though it has ended before that", async () => {
    const host = slowHost(1_000_000);
    const engine = await world.engine({ host, docker: dockerClient(host) });
    const spec = specOf(await world.image());
    await engine.start(spec, io());
    const script = "sleep 0.6; head -c 900000 /dev/zero | tr '\\000' x; echo; echo end";
    const { output, isTruncated } = await engine.exec(spec, script, { timeoutSeconds: 30 });
    expect([output.length, output.slice(-5), isTruncated]).toEqual([900_005, "\nend\n", false]);
  });

  test.each(["no pid", "pid"])(
    "takes no more than its time and what is kept of it from a shell that tells %s",
    async (what) => {
      const { engine, spec } = await started(ENDLESS_SHELL);
      const running = engine.exec(spec, what, { timeoutSeconds: BRIEF_SECONDS, maxOutputBytes: 10 });
      // Either of the two streams may come first.
      const output = expect.stringMatching(/^(?:x{10}|4711\nx{5})$/);
      expect(await running).toMatchObject({ exitCode: 124, output, isTruncated: true });
      const stop = AbortSignal.timeout(500);
      const command = engine.containers.command(spec, { argv: [what], variables: {} }, { signal: stop });
      await expect(command).rejects.toMatchObject({ code: "deploy.cancelled" });
    },
  );

  test("says so where the image has no shell", async () => {
    const { engine, spec } = await started("RUN rm -f /bin/sh");
    const result = await engine.exec(spec, "true", { timeoutSeconds: 20 });
    expect(result.exitCode).toBeGreaterThan(125);
    expect(result.output).toContain("/bin/sh");
    expect(await engine.listeningPorts(spec)).toEqual([]);
  });
});
