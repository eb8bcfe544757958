import { DomainError } from "@berth/core";
import type { Site, Proxy as SiteProxy } from "@berth/core/ports";
import { beforeEach, describe, expect, test } from "vitest";
import type { EmbeddedProxy } from "./embedded.ts";
import { behindFrontDoor, type FrontDoor, frontDoor, guestsOf } from "./front-door.ts";
import type { RecordedProxy } from "./server/recorded-proxy.ts";

const siteOf = (id: string, host: string, isHttps = false): Site => ({
  id,
  name: id,
  routes: [{ host, path: "/api", isHttps, upstreamPort: 3000 }],
  upstreams: [{ host: "127.0.0.1", port: 40_001 }],
  isHttpsForced: true,
  isPrefixStripped: true,
  basicAuth: { username: "me", password: "secret" },
});
const CONTAINER = siteOf("container", "container.example.com", true);
const RECORD = {
  uuid: "d0cker",
  name: "docker",
  engine: "docker" as const,
  proxy_type: "CADDY",
  proxy_status: "exited" as const,
  is_proxy_stopped: false,
  user: "root",
  settings: { redirect_enabled: true, redirect_url: null },
};

/** Keeps its sites by id; `failure` is thrown by each change. */
function keepingProxy(origin: string) {
  const kept = new Map<string, Site>();
  const calls: string[] = [];
  const proxy = {
    failure: undefined as Error | undefined,
    /** Id of the only site that fails. */
    failing: undefined as string | undefined,
    state: "absent" as "absent" | "running",
    kept,
    calls,
  };
  const changing = async (call: string, work: () => void) => {
    calls.push(call);
    if (proxy.failure) throw proxy.failure;
    if (proxy.failing !== undefined && call.endsWith(proxy.failing)) throw new Error("It is refused.");
    work();
  };
  const port: SiteProxy = {
    capabilities: {} as SiteProxy["capabilities"],
    sync: (sites) =>
      changing(`sync ${sites.map(({ id }) => id).join()}`, () => {
        if (sites.length > 0) proxy.state = "running";
        kept.clear();
        for (const site of sites) kept.set(site.id, site);
      }),
    put: (site) =>
      changing(`put ${site.id}`, () => {
        proxy.state = "running";
        kept.set(site.id, site);
      }),
    delete: (id) => changing(`delete ${id}`, () => void kept.delete(id)),
    inFlight: async () => 0,
    answered: async () => undefined,
    publicUrl: (url) => url.replace(/^https?:\/\/([^/:]+).*$/, origin),
  };
  return Object.assign(proxy, { port });
}

let front: ReturnType<typeof keepingProxy>;
let embedded: ReturnType<typeof keepingProxy>;
let door: FrontDoor;
let processes: SiteProxy;
beforeEach(() => {
  front = keepingProxy("front of $1");
  embedded = keepingProxy("port 8080 of $1");
  const opened: EmbeddedProxy = {
    ...embedded.port,
    port: 8080,
    localHost: "127.0.0.1",
    sites: () => [...embedded.kept.values()],
    status: () => Promise.reject(new Error("not asked")),
    close: async () => {},
  };
  const status = async () => ({
    type: "CADDY" as const,
    state: front.state,
    image: null,
    startedAt: null,
    restartCount: 0,
  });
  const recorded: RecordedProxy = {
    ...front.port,
    lifecycle: { start: async () => {}, restart: async () => {}, stop: async () => {}, status },
    use: () => {},
    certificates: async () => undefined,
    useCertificates: async () => {},
  };
  door = frontDoor(RECORD, recorded, () => guestsOf(opened));
  processes = behindFrontDoor(opened, () => door);
});

describe("the proxy with the public ports", () => {
  test("forwards requests for a process, and leaves its password, prefix and port to the embedded proxy", async () => {
    await processes.put(siteOf("shop", "shop.example.com", true));
    expect([...front.kept.values()]).toEqual([
      {
        id: "shop",
        name: "shop",
        routes: [{ host: "shop.example.com", path: "/api", isHttps: true }],
        upstreams: [{ host: "127.0.0.1", port: 8080 }],
        isHttpsForced: true,
        isCompressed: undefined,
      },
    ]);
    expect(embedded.kept.get("shop")).toEqual(siteOf("shop", "shop.example.com", true));
    expect(processes.publicUrl("https://shop.example.com")).toBe("front of shop.example.com");
  });

  test("keeps processes when the Docker server's own sites are told anew", async () => {
    await processes.put(siteOf("shop", "shop.example.com"));
    await door.sync([CONTAINER]);
    expect([...front.kept.keys()]).toEqual(["container", "shop"]);
    await processes.delete("shop");
    expect([...front.kept.keys()]).toEqual(["container"]);
  });

  test("is not updated when a process switches to another release", async () => {
    await door.sync([CONTAINER]);
    const shop = siteOf("shop", "shop.example.com", true);
    await processes.put(shop);
    front.calls.length = 0;
    front.failure = new DomainError("engine.unreachable", "It does not answer.");
    await processes.put({ ...shop, upstreams: [{ host: "127.0.0.1", port: 40_002 }] });
    expect(front.calls).toEqual([]);
    expect(embedded.kept.get("shop")?.upstreams).toEqual([{ host: "127.0.0.1", port: 40_002 }]);
  });

  test("serves processes from the moment in which the first container starts it", async () => {
    await processes.put(siteOf("hello", "hello.localhost"));
    await door.sync([]);
    await door.put(CONTAINER);
    expect([...front.kept.keys()]).toEqual(["container", "hello"]);
    expect(processes.publicUrl("http://hello.localhost")).toBe("front of hello.localhost");
  });

  test("opens processes at its ports although one of them is refused when it starts", async () => {
    await processes.put(siteOf("hello", "hello.localhost"));
    await processes.put(siteOf("bad", "bad.localhost"));
    await door.sync([]);
    front.failing = "bad";
    await door.put(CONTAINER);
    expect([...front.kept.keys()]).toEqual(["container", "hello"]);
    expect(processes.publicUrl("http://hello.localhost")).toBe("front of hello.localhost");
  });

  test("is not started for a name of this machine alone, and serves it once it runs", async () => {
    await processes.put(siteOf("hello", "hello.localhost"));
    await door.sync([]);
    expect([front.state, processes.publicUrl("http://hello.localhost")]).toEqual([
      "absent",
      "port 8080 of hello.localhost",
    ]);
    await door.sync([CONTAINER]);
    expect([...front.kept.keys()]).toEqual(["container", "hello"]);
    expect(processes.publicUrl("http://hello.localhost")).toBe("front of hello.localhost");
  });

  test("follows what the process server's synchronisation adds and removes", async () => {
    await door.sync([CONTAINER]);
    await processes.sync([siteOf("shop", "shop.example.com"), siteOf("blog", "blog.example.com")]);
    await processes.sync([siteOf("blog", "blog.example.com")]);
    expect([...front.kept.keys()]).toEqual(["container", "blog"]);
  });

  test("receives every other guest when one is refused", async () => {
    await door.sync([CONTAINER]);
    await processes.sync([siteOf("old", "old.example.com")]);
    front.failing = "bad";
    front.calls.length = 0;
    await processes.sync([siteOf("bad", "bad.example.com"), siteOf("good", "good.example.com")]);
    expect([...front.kept.keys()]).toEqual(["container", "good"]);
    front.failing = undefined;
    await processes.sync([siteOf("bad", "bad.example.com"), siteOf("good", "good.example.com")]);
    expect([...front.kept.keys()]).toEqual(["container", "good", "bad"]);
  });

  test("forgets a guest before another one gets its name", async () => {
    await door.sync([CONTAINER]);
    await processes.sync([siteOf("before", "shop.example.com")]);
    front.calls.length = 0;
    await processes.sync([siteOf("after", "shop.example.com")]);
    expect(front.calls).toEqual(["delete before", "put after"]);
  });

  test("leaves http to the embedded proxy where it cannot serve, and refuses https", async () => {
    front.failure = new DomainError("setup.failed", "Port 80 is taken.");
    await processes.put(siteOf("shop", "shop.example.com"));
    expect(processes.publicUrl("http://shop.example.com")).toBe("port 8080 of shop.example.com");
    await expect(processes.put(siteOf("bank", "bank.example.com", true))).rejects.toThrow("Port 80 is taken.");
    front.failure = undefined;
    await door.sync([]);
    expect([...front.kept.keys()]).toEqual(["shop", "bank"]);
    expect(processes.publicUrl("http://shop.example.com")).toBe("front of shop.example.com");
  });

  test.each([
    ["is stopped", { is_proxy_stopped: true }, "The proxy of server docker is stopped. Start it: "],
    ["is none", { proxy_type: "NONE" }, "Server docker has no proxy. Choose one: "],
  ])("has no part in processes while it %s, and https is never called http", async (_title, changed, reason) => {
    door.use({ ...RECORD, ...changed });
    await processes.put(siteOf("shop", "shop.example.com"));
    expect(front.calls).toEqual([]);
    expect(processes.capabilities.https).toBe(false);
    expect(processes.publicUrl("http://shop.example.com")).toBe("port 8080 of shop.example.com");
    expect(processes.publicUrl("https://shop.example.com")).toBe("front of shop.example.com");
    expect(processes.urlProblem?.("http://shop.example.com")).toBeUndefined();
    expect(processes.urlProblem?.("https://shop.example.com")).toContain(
      `Nothing answers at https://shop.example.com. ${reason}berth server-proxies `,
    );
    door.use(RECORD);
    expect(processes.urlProblem?.("https://shop.example.com")).toBeUndefined();
  });
});
