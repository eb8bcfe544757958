import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStat } from "@berth/host";
import { until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { PROXY_LIMITS } from "./embedded.ts";
import { openInstances, proxyProgram } from "./instances.ts";
import { ask, HOST, site, startProxy, startUpstream } from "./proxy.fixture.ts";
import { supervise } from "./supervisor.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "berth-proxy-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const config = { version: "1", host: HOST, port: 0, trustedProxies: [], limits: PROXY_LIMITS, user: null };

describe("a proxy that hangs", () => {
  it("is killed and started again with its routes while it is supervised", async () => {
    const lines: string[] = [];
    const liveness = { everySeconds: 0.1, answerSeconds: 0.5 };
    const { proxy, stop } = await startProxy({ folder, liveness, onLine: (line) => lines.push(line) });
    onTestFinished(stop);
    const app = await startUpstream((_request, response) => response.end("app"));
    onTestFinished(app.stop);
    await proxy.put(site("a", [app]));
    const { pid } = await proxy.status();
    process.kill(pid, "SIGSTOP");
    await until(() => processStat(pid) === undefined, { what: "it is gone" });
    await until(async () => (await ask(proxy.port, { host: "a.test" }).catch(() => undefined))?.text === "app", {
      what: "it serves",
    });
    expect(lines).toContain(`The proxy hangs and is killed (process ${pid}).`);
  });
});

describe("a start", () => {
  /** Real processes, of which new ones are killed the first `count` times when asked to listen. */
  function killedWhileAsked(count: number) {
    const instances = openInstances(folder, proxyProgram(process.execPath));
    let left = count;
    const killing: typeof instances = {
      ...instances,
      async start(given) {
        return { ...(await instances.start(given)), state: left > 0 ? "waiting" : "listening" };
      },
      async ask(pid, name, input) {
        if (name === "listen" && left-- > 0) process.kill(pid, "SIGKILL");
        return await instances.ask(pid, name, input);
      },
    };
    return killing;
  }

  it("is begun anew when the process ends while it is asked", async () => {
    const supervisor = await supervise(killedWhileAsked(2), config, { onLine: () => {} });
    const [{ state }] = await supervisor.exclusive(() => supervisor.ask("stats", undefined));
    expect(state).toBe("listening");
    await supervisor.close({ stopProxy: true });
  });

  it("says what to do when it fails in a way of its own", async () => {
    const instances = openInstances(folder, proxyProgram(process.execPath));
    const find = () => Promise.reject(new Error("socket hang up"));
    const failure = supervise({ ...instances, find }, config, { onLine: () => {} });
    await expect(failure).rejects.toMatchObject({ code: "setup.failed", message: expect.stringMatching(/proxy\.log/) });
  });
});
