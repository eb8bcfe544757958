import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { Agent, createServer, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { processStat } from "@berth/host";
import { until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EmbeddedProxy, type EmbeddedProxyOptions, embeddedProxy } from "./embedded.ts";
import { ask, HOST, listen, readAll, site, startUpstream, type TestUpstream } from "./proxy.fixture.ts";

let folder: string;
let app: TestUpstream;
let proxies: EmbeddedProxy[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-proxy-"));
  app = await startUpstream((request, response) => response.end(`app ${request.headers["x-forwarded-for"]}`));
  proxies = [];
});
afterEach(async () => {
  for (const proxy of proxies) await proxy.close({ stopProxy: true });
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A control plane's proxy, which is stopped after the test. */
async function open(options: Partial<EmbeddedProxyOptions> = {}): Promise<EmbeddedProxy> {
  const proxy = await embeddedProxy({ folder, host: HOST, port: 0, nodePath: process.execPath, ...options });
  proxies.push(proxy);
  return proxy;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const isGone = (pid: number) => processStat(pid) === undefined;
const pidOf = async (proxy: EmbeddedProxy) => (await proxy.status()).pid;
const getA = (port: number) => ask(port, { host: "a.test" });

describe("the proxy's process", () => {
  it("comes back with its routes, on its port, each time it is killed", async () => {
    const lines: string[] = [];
    const proxy = await open({ onLine: (line) => lines.push(line) });
    await proxy.sync([site("a", []), site("gone", [app])]);
    await proxy.put(site("b", []));
    await proxy.put(site("a", [app]));
    await proxy.delete("gone");
    const pids = [await pidOf(proxy)];
    for (let count = 1; count <= 3; count++) {
      process.kill(pids.at(-1) ?? 0, "SIGKILL");
      await until(async () => (await getA(proxy.port).catch(() => undefined))?.status === 200, {
        what: "it serves again",
      });
      expect((await ask(proxy.port, { host: "b.test" })).status).toBe(503);
      expect((await ask(proxy.port, { host: "gone.test" })).status).toBe(404);
      pids.push(await pidOf(proxy));
    }
    expect(new Set(pids).size).toBe(4);
    expect(lines.filter((line) => line.includes("started again"))).toHaveLength(3);
  });

  it("is sent all routes only when they changed, or its file is gone", async () => {
    const proxy = await open();
    const table = join(folder, "table.json");
    const written = async () => (await stat(table)).ino;
    await proxy.sync([site("a", [app]), site("b", [])]);
    const before = await written();
    await proxy.sync([site("a", [app]), site("b", [])]);
    expect(await written()).toBe(before);
    await rm(table);
    await proxy.sync([site("a", [app]), site("b", [])]);
    expect(JSON.parse(await readFile(table, "utf8")).sites).toHaveLength(2);
    await writeFile(table, '{"sites":[{');
    await proxy.sync([site("a", [app]), site("b", [])]);
    expect(JSON.parse(await readFile(table, "utf8")).sites).toHaveLength(2);
    await proxy.sync([site("a", [app])]);
    expect((await ask(proxy.port, { host: "b.test" })).status).toBe(404);
  });

  it("takes changes that are made while it is down", async () => {
    const proxy = await open();
    const pid = await pidOf(proxy);
    process.kill(pid, "SIGKILL");
    await Promise.all([proxy.put(site("a", [app])), proxy.put(site("b", [])), proxy.delete("b")]);
    expect((await getA(proxy.port)).status).toBe(200);
    expect((await ask(proxy.port, { host: "b.test" })).status).toBe(404);
    expect(await proxy.inFlight(app)).toBe(0);
    expect(await pidOf(proxy)).not.toBe(pid);
  });

  it("continues without its control plane, and ends with it only when told to", async () => {
    const proxy = await open();
    await proxy.put(site("a", [app]));
    const pid = await pidOf(proxy);
    await proxy.close({ stopProxy: false });
    expect((await getA(proxy.port)).status).toBe(200);
    await expect(proxy.put(site("b", []))).rejects.toMatchObject({ code: "engine.unreachable" });
    await proxy.close({ stopProxy: true });
    await proxy.close({ stopProxy: true });
    expect(isGone(pid)).toBe(true);
    expect((await readdir(folder)).filter((name) => name.startsWith(String(pid)))).toEqual([]);
  });

  it("holds its secrets where no one else can read them", async () => {
    const proxy = await open();
    await proxy.put(site("a", [app], { basicAuth: { username: "u", password: "hidden" } }));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    for (const name of ["table.json", "proxy.log"]) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    const pid = await pidOf(proxy);
    expect(await readFile(`/proc/${pid}/cmdline`, "utf8")).not.toContain("hidden");
    expect(await readFile(`/proc/${pid}/environ`, "utf8")).not.toMatch(/PATH=|HOME=/);
  });

  it.runIf(process.getuid?.() === 0)("has no right that root has, although its folder is root's alone", async () => {
    const user = { uid: 65_534, gid: 65_534 };
    const proxy = await open({ folder: join(folder, "deeper"), user });
    const status = await readFile(`/proc/${await pidOf(proxy)}/status`, "utf8");
    expect(status).toMatch(/^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
    expect(status).toMatch(/^Gid:\s+65534\s+65534\s+65534\s+65534$/m);
    expect(status).toMatch(/^Groups:\s+65534\s*$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    await proxy.put(site("a", [app]));
    expect((await getA(proxy.port)).status).toBe(200);
  });

  it("can be reached in a folder deeper than a socket's path may be long", async () => {
    const deep = join(folder, "x".repeat(100), "y".repeat(100));
    const first = await open({ folder: deep });
    await first.put(site("a", [app]));
    await first.close({ stopProxy: false });
    const second = await open({ folder: deep });
    expect([await pidOf(second), (await getA(second.port)).status]).toEqual([await pidOf(second), 200]);
  });

  it("ends when its folder was deleted, since no control plane would find it any more", async () => {
    const proxy = await open();
    const pid = await pidOf(proxy);
    await proxy.close({ stopProxy: false });
    await rm(folder, { recursive: true });
    await until(() => isGone(pid), { what: "it has ended" });
  });

  it("starts without routes when their file is damaged", async () => {
    await writeFile(join(folder, "table.json"), '{"sites":[{');
    const proxy = await open();
    expect((await getA(proxy.port)).status).toBe(404);
  });
});

describe("a control plane", () => {
  it("adopts the process of the one before, with its routes and open connections", async () => {
    let finish = () => {};
    const slow = await startUpstream((_request, response) => {
      response.write("begun,");
      finish = () => response.end("done");
    });
    const first = await open();
    await first.put(site("slow", [slow]));
    const pid = await pidOf(first);
    const answer = ask(first.port, { host: "slow.test" });
    await until(async () => (await first.inFlight(slow)) === 1, { what: "it is in flight" });
    await first.close({ stopProxy: false });
    const second = await open();
    expect([await pidOf(second), second.port]).toEqual([pid, first.port]);
    expect(await second.inFlight(slow)).toBe(1);
    finish();
    expect((await answer).text).toBe("begun,done");
    await second.put(site("a", [app]));
    expect((await getA(second.port)).status).toBe(200);
    await slow.stop();
  });

  it("may be killed at any moment: the proxy serves on and the next one adopts it", async () => {
    const port = await freePort();
    const script = fileURLToPath(new URL("control-plane.fixture.ts", import.meta.url));
    const pids: number[] = [];
    for (let count = 1; count <= 2; count++) {
      const child = spawn(process.execPath, [script, folder, String(port), String(app.port)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [line] = await new Promise<Buffer[]>((resolve) => child.stdout.once("data", (...data) => resolve(data)));
      pids.push(Number(line));
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
      expect((await getA(port)).text).toBe(`app ${HOST}`);
    }
    const proxy = await open({ port });
    expect([...pids, await pidOf(proxy)]).toEqual([pids[0], pids[0], pids[0]]);
  });

  it("adopts a process whose record was not written any more", async () => {
    const first = await open();
    const pid = await pidOf(first);
    await first.close({ stopProxy: false });
    await rm(join(folder, `${pid}.json`));
    const second = await open();
    expect(await pidOf(second)).toBe(pid);
    await second.close({ stopProxy: true });
    expect(isGone(pid)).toBe(true);
  });

  it("replaces a process that hangs", async () => {
    const port = await freePort();
    const first = await open({ port });
    await first.put(site("a", [app]));
    const pid = await pidOf(first);
    await first.close({ stopProxy: false });
    process.kill(pid, "SIGSTOP");
    const second = await open({ port });
    expect(isGone(pid)).toBe(true);
    expect((await getA(second.port)).status).toBe(200);
  });

  it("leaves alone a process that has the number of a proxy long gone", async () => {
    const stranger = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      detached: true,
      stdio: "ignore",
    });
    const { pid = 0 } = stranger;
    const stale = { pid, startTime: "1", bootId: "of another boot" };
    await writeFile(join(folder, `${pid}.json`), JSON.stringify(stale));
    await writeFile(join(folder, `${process.pid}.sock`), "");
    await open();
    expect(isGone(pid)).toBe(false);
    expect(await readdir(folder)).not.toContain(`${pid}.json`);
    stranger.kill("SIGKILL");
  });
});

describe("a proxy of another version or configuration", () => {
  it("hands over its port, ends what it has in flight and fails no kept connection", async () => {
    const port = await freePort();
    let finish = () => {};
    const slow = await startUpstream((_request, response) => {
      response.write("begun,");
      finish = () => response.end("done");
    });
    const old = await open({ port });
    await old.sync([site("a", [app]), site("slow", [slow])]);
    const oldPid = await pidOf(old);
    const inFlight = ask(port, { host: "slow.test" });
    await until(async () => (await old.inFlight(slow)) === 1, { what: "it is in flight" });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const kept = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        request({ host: HOST, port, agent, headers: { host: "a.test", "x-forwarded-for": "1.2.3.4" } }, resolve)
          .once("error", reject)
          .end();
      });
    expect((await readAll(await kept())).toString()).toBe(`app ${HOST}`);
    await old.close({ stopProxy: false });

    const young = await open({ port, trustedProxies: [HOST] });
    expect(await pidOf(young)).not.toBe(oldPid);
    expect(await young.inFlight(slow)).toBe(1);
    // The connection of the old process, which asks the client to open a new one.
    const last = await kept();
    expect([(await readAll(last)).toString(), last.headers.connection]).toEqual([`app ${HOST}`, "close"]);
    expect((await readAll(await kept())).toString()).toBe("app 1.2.3.4");
    await young.delete("a");
    finish();
    expect((await inFlight).text).toBe("begun,done");
    await until(() => isGone(oldPid), { what: "the old process has ended" });
    expect(await young.inFlight(slow)).toBe(0);
    agent.destroy();
    await slow.stop();
  });

  it("is replaced on another port when that one is free, and stays when it is not", async () => {
    const [port, other] = [await freePort(), await freePort()];
    const old = await open({ port });
    await old.put(site("a", [app]));
    const pid = await pidOf(old);
    await old.close({ stopProxy: false });
    const blocker = createServer();
    const taken = await listen(blocker);
    await expect(open({ port: taken })).rejects.toMatchObject({ code: "setup.failed" });
    expect((await getA(port)).status).toBe(200);
    blocker.close();
    const young = await open({ port: other });
    expect((await getA(other)).status).toBe(200);
    await until(() => isGone(pid), { what: "the old process has ended" });
    await expect(getA(port)).rejects.toThrow("ECONNREFUSED");
    expect(young.port).toBe(other);
  });
});

describe("a proxy that cannot listen", () => {
  it("says which port is in use and where to choose another, and leaves nothing behind", async () => {
    const blocker = createServer();
    const port = await listen(blocker);
    const failure = open({ port });
    await expect(failure).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringMatching(/BERTH_PROXY_PORT/),
    });
    await expect(failure).rejects.toThrow(`Port ${port} is in use by another program.`);
    expect((await readdir(folder)).filter((name) => /^\d/.test(name))).toEqual([]);
    blocker.close();
  });

  it("says so of an address that is not the machine's", async () => {
    await expect(open({ host: "192.0.2.1" })).rejects.toThrow(/cannot listen on 192\.0\.2\.1/);
  });

  it("does not take the port of another installation's proxy", async () => {
    const first = await open();
    await expect(open({ folder: join(folder, "other"), port: first.port })).rejects.toThrow(/in use/);
    expect((await first.status()).state).toBe("listening");
  });

  it.runIf(process.getuid?.() !== 0)("says that a low port is root's, and that a folder is not writable", async () => {
    await expect(open({ port: 81 })).rejects.toThrow(/Port 81 is reserved for root/);
    await mkdir(join(folder, "locked"));
    await chmod(join(folder, "locked"), 0o500);
    await expect(open({ folder: join(folder, "locked", "in") })).rejects.toMatchObject({ code: "setup.failed" });
    await chmod(join(folder, "locked"), 0o700);
  });
});

describe("publicUrl", () => {
  it("names the port that the proxy listens on", async () => {
    const proxy = await open();
    expect(proxy.publicUrl("http://a.test/x")).toBe(`http://a.test:${proxy.port}/x`);
  });
});
