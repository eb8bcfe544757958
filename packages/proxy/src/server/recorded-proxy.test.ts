import { DomainError } from "@berth/core";
import type { ManagedProxy, ManagedProxyStatus, ProxyType, Site } from "@berth/core/ports";
import { eventually } from "@berth/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { recordedProxy } from "./recorded-proxy.ts";

const SITE: Site = { id: "web", name: "web", routes: [{ host: "a.example", path: "/" }], upstreams: [] };

let told: string[];
let state: ManagedProxyStatus["state"];
let failures = 0;
let seconds = 0;
/** Of the container that runs. */
let runningType: ProxyType | undefined;
beforeEach(() => {
  told = [];
  state = "absent";
  failures = 0;
  seconds = 0;
  runningType = undefined;
});

/** Records its calls. Its container exists once `ensure` was called. */
function writingProxy(type: ProxyType): ManagedProxy {
  const tell = (what: string) => void told.push(`${type} ${what}`);
  return {
    type,
    capabilities: {
      https: true,
      compression: true,
      customHeaders: true,
      upstreamPorts: true,
      requestCounts: true,
      answerCounts: true,
      earlyAnswers: true,
      hidesSession: true,
    },
    async ensure({ isAnew = false } = {}) {
      tell(isAnew ? "ensure anew" : "ensure");
      if (failures-- > 0) throw new DomainError("setup.failed", "Port 80 is taken.");
      state = "running";
      runningType = type;
    },
    sync: async (sites) => tell(`sync ${sites.length}`),
    put: async ({ id }) => tell(`put ${id}`),
    delete: async (id) => tell(`delete ${id}`),
    inFlight: async () => 0,
    answered: async () => undefined,
    publicUrl: (url) => url,
    async stop() {
      tell("stop");
      state = "absent";
    },
    status: async () => ({ type: runningType ?? type, state, image: null, startedAt: null, restartCount: 0 }),
  };
}
const recorded = (proxy_type: string, is_proxy_stopped = false, user = "root", redirect_url: string | null = null) => ({
  ...{ uuid: "s1", name: "web-1", engine: "docker" as const },
  proxy_type,
  is_proxy_stopped,
  user,
  settings: { redirect_enabled: true, redirect_url },
});
const proxyOf = (proxy_type: string) =>
  recordedProxy(recorded(proxy_type), writingProxy, { nowMs: () => seconds * 1000 });

describe("the proxy of a server's record", () => {
  test("is not started before there is a site, and once however many there are", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.sync([]);
    await proxy.delete("gone");
    expect(told).toEqual([]);
    await Promise.all([proxy.put(SITE), proxy.put({ ...SITE, id: "api" })]);
    expect(told).toEqual(["CADDY ensure", "CADDY put web", "CADDY put api"]);
  });

  test("is started again by the next sync when somebody stopped it", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.sync([SITE]);
    state = "exited";
    await proxy.sync([SITE]);
    expect(told).toEqual(["CADDY ensure", "CADDY sync 1", "CADDY ensure", "CADDY sync 1"]);
  });

  test("is tried again for the next deployment some seconds after it could not be started", async () => {
    failures = 1;
    const proxy = proxyOf("CADDY");
    await expect(proxy.put(SITE)).rejects.toMatchObject({ code: "setup.failed" });
    expect(await proxy.lifecycle.status()).toMatchObject({ state: "absent", problem: "Port 80 is taken." });
    await expect(proxy.put(SITE)).rejects.toMatchObject({ message: "Port 80 is taken." });
    expect(told).toEqual(["CADDY ensure"]);
    seconds = 6;
    await proxy.put(SITE);
    expect(told).toEqual(["CADDY ensure", "CADDY ensure", "CADDY put web"]);
    expect(await proxy.lifecycle.status()).not.toHaveProperty("problem");
  });

  test("that cannot be started is tried ever more rarely, down to once in five minutes", async () => {
    failures = Infinity;
    const proxy = proxyOf("CADDY");
    const triedAt: number[] = [];
    for (; seconds < 1800; seconds++) {
      const before = told.length;
      await expect(proxy.sync([SITE])).rejects.toMatchObject({ message: "Port 80 is taken." });
      if (told.length > before) triedAt.push(seconds);
    }
    expect(triedAt).toEqual([0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515]);
  });

  test("that cannot take another's place leaves the routes to that one, and says so", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.put(SITE);
    failures = 1;
    proxy.use(recorded("TRAEFIK"));
    await proxy.put({ ...SITE, id: "api" });
    await proxy.sync([SITE]);
    expect(told.slice(2)).toEqual(["TRAEFIK ensure", "CADDY put api", "CADDY sync 1"]);
    expect(await proxy.lifecycle.status()).toMatchObject({
      type: "CADDY",
      problem: "Port 80 is taken. The proxy caddy serves until that is mended.",
    });
    seconds = 6;
    await proxy.put(SITE);
    await proxy.sync([SITE]);
    expect(told.slice(5)).toEqual(["CADDY put web", "TRAEFIK ensure", "TRAEFIK sync 1"]);
    expect(await proxy.lifecycle.status()).not.toHaveProperty("problem");
  });

  test("that was found running in place of the wanted one is told the routes", async () => {
    [state, runningType, failures] = ["running", "CADDY", 1];
    const proxy = proxyOf("TRAEFIK");
    await proxy.put(SITE);
    expect(told).toEqual(["TRAEFIK ensure", "CADDY put web"]);
  });

  test("gives way to another type at once, where one runs", async () => {
    const proxy = proxyOf("CADDY");
    proxy.use(recorded("TRAEFIK"));
    expect(told).toEqual([]);
    await proxy.put(SITE);
    proxy.use(recorded("TRAEFIK"));
    proxy.use(recorded("CADDY"));
    await eventually(() => expect(told).toEqual(["TRAEFIK ensure", "TRAEFIK put web", "CADDY ensure"]));
  });

  test("that was stopped is told its routes, and is started by nothing but being asked to", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.put(SITE);
    proxy.use(recorded("CADDY", true));
    await proxy.lifecycle.stop();
    await proxy.sync([SITE]);
    await proxy.put({ ...SITE, id: "api" });
    await proxy.delete("api");
    proxy.use(recorded("TRAEFIK", true));
    await proxy.put(SITE);
    const quiet = ["CADDY stop", "CADDY sync 1", "CADDY put api", "TRAEFIK put web"];
    expect(told.slice(2)).toEqual(quiet);
    proxy.use(recorded("TRAEFIK"));
    await proxy.lifecycle.start();
    expect(told.slice(2)).toEqual([...quiet, "TRAEFIK ensure"]);
  });

  test("that was stopped and runs nevertheless is stopped again", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.put(SITE);
    proxy.use(recorded("CADDY", true));
    await proxy.sync([SITE]);
    expect(told.slice(2)).toEqual(["CADDY stop", "CADDY sync 1"]);
    expect(await proxy.lifecycle.status()).toMatchObject({ state: "absent" });
  });

  test("is made anew when it is asked to restart, once however often it is told something", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.put(SITE);
    await Promise.all([proxy.lifecycle.restart(), proxy.put(SITE)]);
    expect(told.slice(2)).toEqual(["CADDY ensure anew", "CADDY put web"]);
  });

  test("is another one for another login, and begins with all of its routes", async () => {
    const made = vi.fn(writingProxy);
    const proxy = recordedProxy(recorded("CADDY"), made);
    await proxy.put(SITE);
    proxy.use(recorded("CADDY", false, "deploy"));
    proxy.use(recorded("CADDY", false, "deploy"));
    expect(made).toHaveBeenCalledTimes(2);
    await proxy.sync([SITE]);
    expect(told.slice(2)).toEqual(["CADDY ensure", "CADDY sync 1"]);
  });

  test("reads where unknown names lead anew when that has changed", async () => {
    const proxy = proxyOf("CADDY");
    await proxy.put(SITE);
    proxy.use(recorded("CADDY", false, "root", "https://a.example"));
    proxy.use(recorded("CADDY", false, "root", "https://a.example"));
    await eventually(() => expect(told.slice(2)).toEqual(["CADDY ensure"]));
  });

  test("reads what is no type as none", () => {
    const made = vi.fn(writingProxy);
    recordedProxy(recorded("NGINX"), made);
    expect(made).toHaveBeenCalledWith("NONE");
  });
});

test("says why nothing answers where the record asks for no proxy that runs", () => {
  const proxy = proxyOf("CADDY");
  const problem = () => proxy.urlProblem?.("https://a.example");
  expect(problem()).toBeUndefined();
  proxy.use(recorded("CADDY", true));
  expect(problem()).toBe(
    "Nothing answers at https://a.example. The proxy of server web-1 is stopped. Start it: berth server-proxies start s1",
  );
  proxy.use(recorded("NONE"));
  expect(problem()).toMatch(/^Nothing answers at https:\/\/a\.example\. Server web-1 has no proxy\./);
  proxy.use(recorded("CADDY"));
  expect(problem()).toBeUndefined();
});
