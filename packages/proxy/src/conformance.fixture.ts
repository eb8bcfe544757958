import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { ProxyCapabilities, Site, Proxy as SiteProxy } from "@berth/core/ports";
import { until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, type TestContext, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { type Answer, ask, HOST, listen, site, startUpstream, type TestUpstream } from "./proxy.fixture.ts";

/** A proxy on this machine, with the access that the conformance suite needs. */
export interface ProxyWorld {
  readonly proxy: SiteProxy;
  readonly httpPort: number;
  /** Drops the control plane without a shutdown; returns the next one's proxy. */
  reincarnate(): Promise<SiteProxy>;
  close(): Promise<void>;
}

/** A request that the upstream received. */
interface Received {
  readonly url: string;
  readonly headers: Record<string, string>;
}
const received = ({ text }: Answer) => JSON.parse(text) as Received; // Written by `echoHead`.

/** Guarantees of every proxy. A proxy declares each capability that it lacks. */
export function proxyConformance(name: string, makeWorld: () => Promise<ProxyWorld>): void {
  describe(`${name} as a proxy`, () => {
    let world: ProxyWorld;
    let proxy: SiteProxy;
    let cleanups: (() => unknown)[] = [];

    beforeAll(async () => {
      world = await makeWorld();
      proxy = world.proxy;
    });
    afterEach(async () => {
      await proxy.sync([]);
      await Promise.all(cleanups.map((cleanup) => cleanup()));
      cleanups = [];
    });
    afterAll(() => world?.close());

    async function upstream(
      handler: (request: IncomingMessage, response: ServerResponse) => void,
    ): Promise<TestUpstream> {
      const started = await startUpstream(handler);
      cleanups.push(started.stop);
      return started;
    }
    const named = (text: string) => upstream((request, response) => response.end(`${text} ${request.url}`));
    const echoHead = () =>
      upstream((request, response) => response.end(JSON.stringify({ url: request.url, headers: request.headers })));
    /** An upstream that begins its answer at once and ends it on request. */
    async function slowUpstream() {
      const [arrival, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const slow = await upstream((_request, response) => {
        response.write("begun,");
        arrival.resolve();
        end.promise.then(() => response.end("done"));
      });
      return { slow, finish: end.resolve, reached: arrival.promise };
    }
    const get = (host: string, path = "/", headers = {}) => ask(world.httpPort, { host, path, headers });
    const lacks = (context: TestContext, capability: keyof ProxyCapabilities): boolean => {
      if (proxy.capabilities[capability]) return false;
      console.log(`NOT_SUPPORTED ${capability}: ${context.task.name}`);
      context.skip(`NOT_SUPPORTED ${capability}`);
      return true;
    };

    test("a site answers for each of its hosts and paths, and no other does", async () => {
      const [root, api] = [await named("root"), await named("api")];
      const routes = ["one.test", "two.test", "[::1]"].map((host) => ({ host, path: "/" }));
      await proxy.put(site("root", [root], { routes }));
      await proxy.put(site("api", [api], { routes: [{ host: "one.test", path: "/api" }] }));
      for (const [host, path, text] of [
        ["one.test", "/x?q=1", "root /x?q=1"],
        ["ONE.test:8080", "/", "root /"],
        ["one.test.", "/", "root /"],
        ["two.test", "/api", "root /api"],
        ["[::1]:80", "/", "root /"],
        ["one.test", "/api", "api /api"],
        ["one.test", "/api/x?y", "api /api/x?y"],
        ["one.test", "/apix", "root /apix"],
        ["one.test", "/API", "root /API"],
      ] as const)
        expect([host, path, (await get(host, path)).text]).toEqual([host, path, text]);
      expect((await get("three.test")).status).toBe(404);
      await proxy.delete("root");
      await proxy.delete("root");
      expect((await get("one.test", "/")).status).toBe(404);
      expect((await get("one.test", "/api")).text).toBe("api /api");
    });

    test("a path that another reading leads to another application is refused", async () => {
      const [root, api] = [await named("root"), await named("api")];
      await proxy.put(site("root", [root], { routes: [{ host: "one.test", path: "/" }] }));
      await proxy.put(site("api", [api], { routes: [{ host: "one.test", path: "/api" }] }));
      const tricks = ["/api/../x", "/api/..%2fx", "/api/%2e%2e/x", "/api/..;/x"];
      for (const path of tricks) expect([path, (await get("one.test", path)).status]).toEqual([path, 400]);
      for (const path of ["/api/..x", "/api/a..b/x", "/api?x=/../"])
        expect([path, (await get("one.test", path)).text]).toEqual([path, `api ${path}`]);
    });

    test("an application gets the request as it came, with what is known of the client and nothing made up", async () => {
      await proxy.put(site("a", [await echoHead()]));
      const forged = { "X-Forwarded-For": "6.6.6.6", "X-Real-IP": "6.6.6.6", Forwarded: "for=6" };
      const answer = await get("a.test", "/x//y/../%2e%2E;p?q=1", { ...forged, "X-Request-Id": "mine" });
      expect(received(answer)).toMatchObject({
        url: "/x//y/../%2e%2E;p?q=1",
        headers: {
          host: "a.test",
          "x-forwarded-for": HOST,
          "x-forwarded-host": "a.test",
          "x-forwarded-proto": "http",
          "x-real-ip": HOST,
        },
      });
      expect(answer.text).not.toMatch(/6\.6\.6\.6|for=6/);
    });

    test("the path of a route is taken away where that is asked for", async () => {
      const routes = ["/api", "/caf%C3%A9"].map((path) => ({ host: "a.test", path }));
      await proxy.put(site("a", [await echoHead()], { routes, isPrefixStripped: true }));
      for (const [path, url] of [
        ["/api", "/"],
        ["/api/x?y=1", "/x?y=1"],
        ["/caf%C3%A9/x", "/x"],
      ] as const)
        expect(received(await get("a.test", path)).url).toBe(url);
      const { headers } = received(await get("a.test", "/api/x", { "X-Forwarded-Prefix": "/forged" }));
      expect(headers["x-forwarded-prefix"]).toBe("/api");
    });

    test("a name and a password are asked for, whatever characters they have", async () => {
      const plain = { username: "me", password: "secret" };
      const odd = { username: 'ö{env.PATH}"\\', password: "{file./etc/passwd}:".repeat(3) };
      await proxy.put(site("a", [await named("a")], { basicAuth: plain }));
      await proxy.put(site("b", [await named("b")], { basicAuth: odd }));
      const as = (host: string, { username, password }: typeof plain) =>
        get(host, "/", { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` });
      expect((await as("a.test", plain)).text).toBe("a /");
      expect((await as("b.test", odd)).text).toBe("b /");
      const wrong = { ...plain, password: "secret " };
      for (const { status, headers } of [await get("a.test"), await as("a.test", wrong), await as("a.test", odd)])
        expect([status, headers["www-authenticate"]]).toEqual([401, expect.stringContaining("Basic")]);
    });

    test("an answer is compressed for those who take it, where that is asked for", async (context) => {
      if (lacks(context, "compression")) return;
      const text = "all work and no play ".repeat(200);
      const answering = await upstream((_request, response) => {
        response.setHeader("Content-Type", "text/plain").end(text);
      });
      await proxy.put(site("a", [answering], { isCompressed: true }));
      await proxy.put(site("b", [answering]));
      const gzip = { "Accept-Encoding": "gzip" };
      expect((await get("a.test", "/", gzip)).headers["content-encoding"]).toBe("gzip");
      expect((await get("b.test", "/", gzip)).headers["content-encoding"]).toBeUndefined();
      expect((await get("a.test")).text).toBe(text);
    });

    test("answers of an unlisted route ask search engines not to list them, whatever the site says", async () => {
      const answering = await upstream((_request, response) => {
        response.setHeader("X-Robots-Tag", "all").end("page");
      });
      const listed = site("a", [answering]);
      const routes = listed.routes.flatMap((route) => [
        { ...route, isUnlisted: true },
        { ...route, host: "listed.test" },
      ]);
      await proxy.put({ ...listed, routes });
      expect((await get("a.test")).headers["x-robots-tag"]).toBe("noindex, nofollow");
      expect((await get("listed.test")).headers["x-robots-tag"]).toBe("all");
    });

    test("headers of a site are set, and are texts to the proxy", async (context) => {
      if (lacks(context, "customHeaders")) return;
      const answering = await upstream((request, response) => {
        response.setHeader("X-Powered-By", "me").end(JSON.stringify({ url: request.url, headers: request.headers }));
      });
      const braces = "{env.PATH} \\{http.request.host\\} {";
      const requestHeaders = { "X-To": braces, Cookie: "", Host: "other.test", "Bad Name": "x", "X-Split": "a\r\nb" };
      const responseHeaders = { "X-Frame-Options": "DENY", "X-Back": braces, "X-Powered-By": "" };
      await proxy.put(site("a", [answering], { requestHeaders, responseHeaders }));
      const answer = await get("a.test", "/", { Cookie: "a=1" });
      expect(answer.headers).toMatchObject({ "x-frame-options": "DENY", "x-back": braces });
      expect(answer.headers).not.toHaveProperty("x-powered-by");
      expect(received(answer).headers).toMatchObject({ "x-to": braces, host: "a.test" });
      expect(received(answer).headers).not.toHaveProperty("cookie");
      expect(answer.text).not.toContain("split");
    });

    test("the dashboard's session reaches no application", async (context) => {
      if (lacks(context, "hidesSession")) return;
      await proxy.put(site("a", [await echoHead()]));
      const forwarded = async (cookie: string) => received(await get("a.test", "/", { Cookie: cookie })).headers.cookie;
      expect(await forwarded("a=1; berth_session=7.abc; b=2")).toBe("a=1; b=2");
      expect(await forwarded("__Host-berth_session=7.abc; my_berth_session=1")).toBe("my_berth_session=1");
      expect((await forwarded("berth_session=7.abc; berth_session=8.def")) ?? "").toBe("");
    });

    test("a request goes to the port that its URL names", async (context) => {
      if (lacks(context, "upstreamPorts")) return;
      const [first, second] = [await named("first"), await named("second")];
      const routes = [
        { host: "a.test", path: "/" },
        { host: "b.test", path: "/", upstreamPort: second.port },
      ];
      await proxy.put(site("a", [first], { routes }));
      expect([(await get("a.test")).text, (await get("b.test")).text]).toEqual(["first /", "second /"]);
    });

    test("one host is redirected to the other, with path and query", async () => {
      const routes = [
        { host: "a.test", path: "/" },
        { host: "www.a.test", path: "/", redirectToHost: "a.test" },
      ];
      await proxy.put(site("a", [await named("a")], { routes }));
      const { status, headers } = await get("www.a.test", "/x?y=1");
      expect([status, headers.location]).toEqual([308, expect.stringMatching(/^http:\/\/a\.test(:\d+)?\/x\?y=1$/)]);
    });

    test("requests are shared between the upstreams of a site", async () => {
      const upstreams = [await named("one"), await named("two"), await named("three")];
      await proxy.put(site("a", upstreams));
      const answering = async (requests: number) => {
        const answers = await Promise.all(Array.from({ length: requests }, () => get("a.test")));
        return [...new Set(answers.map(({ text }) => text))].sort();
      };
      expect(await answering(6)).toEqual(["one /", "three /", "two /"]);
      await proxy.put(site("a", upstreams.slice(1)));
      expect(await answering(6)).toEqual(["three /", "two /"]);
    });

    test("a request goes to another upstream where one takes no connection", async () => {
      const [one, gone, two] = [await named("one"), await named("gone"), await named("two")];
      await gone.stop();
      await proxy.put(site("a", [one, gone, two]));
      const asked = Array.from({ length: 12 }, (_none, at) =>
        ask(world.httpPort, { host: "a.test", path: `/${at}`, method: at % 2 === 0 ? "GET" : "POST" }),
      );
      const answers = await Promise.all(asked);
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      expect(new Set(answers.map(({ text }) => text.split(" ")[0]))).toEqual(new Set(["one", "two"]));
    });

    test("a site that is down says so, and so does one whose application does not answer", async () => {
      const stopped = await named("gone");
      await stopped.stop();
      await proxy.put(site("a", []));
      await proxy.put(site("b", [stopped]));
      expect((await get("a.test")).status).toBe(503);
      expect([502, 503]).toContain((await get("b.test")).status);
    });

    test("a change fails no request, and what is in flight ends where it began", async () => {
      const [old, young] = [await named("old"), await named("young")];
      const { slow, finish, reached } = await slowUpstream();
      await proxy.put(site("slow", [slow]));
      await proxy.put(site("a", [old]));
      const inFlight = get("slow.test");
      await reached;
      let isOver = false;
      const asking = Array.from({ length: 4 }, async () => {
        const seen: string[] = [];
        while (!isOver) seen.push((await get("a.test")).text);
        return seen;
      });
      for (const next of [young, old, young]) await proxy.put(site("a", [next]));
      await proxy.put(site("slow", [young]));
      expect([(await get("a.test")).text, (await get("slow.test")).text]).toEqual(["young /", "young /"]);
      isOver = true;
      const answers = new Set((await Promise.all(asking)).flat());
      expect([...answers].every((text) => text === "old /" || text === "young /")).toBe(true);
      finish();
      expect((await inFlight).text).toBe("begun,done");
    });

    test("an upstream without requests has none in flight", async (context) => {
      if (lacks(context, "requestCounts")) return;
      const { slow, finish, reached } = await slowUpstream();
      await proxy.put(site("a", [slow]));
      expect(await proxy.inFlight(slow)).toBe(0);
      const answer = get("a.test");
      await reached;
      await until(async () => (await proxy.inFlight(slow)) === 1, { what: "it is in flight" });
      finish();
      await answer;
      await until(async () => (await proxy.inFlight(slow)) === 0, { what: "it has ended" });
    });

    test("answered requests of a site are counted over all of its URLs, where that is asked for", async (context) => {
      if (lacks(context, "answerCounts")) return;
      const answering = await upstream((request, response) => {
        response.statusCode = request.url === "/broken" ? 500 : 200;
        response.end("answer");
      });
      const gone = await named("gone");
      await gone.stop();
      const [counted, other] = [{ isCounted: true }, await named("other")];
      const routes = [
        { host: "a.test", path: "/" },
        { host: "b.test", path: "/" },
        { host: "www.a.test", path: "/", redirectToHost: "a.test" },
      ];
      await proxy.sync([
        site("a", [answering], { ...counted, routes }),
        site("other", [other], { routes: [{ host: "a.test", path: "/other" }] }),
        site("down", [], counted),
        site("gone", [gone], counted),
        site("shut", [answering], { ...counted, basicAuth: { username: "me", password: "secret" } }),
      ]);
      const counts = async () => Object.fromEntries((await proxy.answered())?.bySite ?? []);
      const none = { down: 0, gone: 0, shut: 0 };
      await until(async () => (await counts()).a === 0, { what: "it is counted" });
      const own = [
        ["a.test", "/"],
        ["a.test:80", "/x?y"],
        ["A.TEST", "/broken"],
        ["b.test", "/"],
      ] as const;
      for (const [host, path] of own) await get(host, path);
      const others = [
        ["a.test", "/other"],
        ["a.test", "/other/../x"],
        ["www.a.test", "/"],
        ["unknown.test", "/"],
      ] as const;
      for (const [host, path] of others) await get(host, path);
      for (const id of Object.keys(none)) await get(`${id}.test`);
      await ask(world.httpPort, { host: "b.test", method: "POST", body: "x" });
      // The last request is counted last.
      await until(async () => (await counts()).a === 5, { what: "all are counted" });
      expect(await counts()).toEqual({ ...none, a: 5 });

      const { run } = (await proxy.answered()) ?? {};
      await proxy.put(site("a", [other], { ...counted, routes }));
      await get("a.test");
      await until(async () => (await counts()).a === 6, { what: "a change keeps the count" });
      expect((await proxy.answered())?.run).toBe(run);
      await proxy.put(site("a", [other], { routes }));
      await get("a.test");
      expect(await counts()).toEqual(none);
    });

    test("upgraded connections are not counted, since many of them may end at once", async (context) => {
      if (lacks(context, "answerCounts")) return;
      const server = createServer((_request, response) => response.end("plain"));
      const sockets = new WebSocketServer({ server });
      const echo = { host: HOST, port: await listen(server) };
      cleanups.push(() => {
        server.closeAllConnections();
        server.close();
      });
      await proxy.put(site("talk", [echo], { isCounted: true }));
      const opened = Array.from({ length: 3 }, async () => {
        const socket = new WebSocket(`ws://${HOST}:${world.httpPort}/`, { headers: { Host: "talk.test" } });
        await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
        return await new Promise((resolve) => {
          socket.once("close", resolve);
          for (const client of sockets.clients) client.terminate();
        });
      });
      await Promise.all(opened);
      await get("talk.test");
      await until(async () => ((await proxy.answered())?.bySite.get("talk") ?? 0) > 0, {
        what: "the request is counted",
      });
      expect((await proxy.answered())?.bySite.get("talk")).toBe(1);
    });

    test("a WebSocket reaches the application and outlives a change", async () => {
      const server = createServer((_request, response) => response.end("plain"));
      const sockets = new WebSocketServer({ server });
      sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`heard ${data}`)));
      const echo = { host: HOST, port: await listen(server) };
      cleanups.push(() => {
        for (const socket of sockets.clients) socket.terminate();
        server.closeAllConnections();
        server.close();
      });
      await proxy.put(site("a", [echo]));
      const socket = new WebSocket(`ws://${HOST}:${world.httpPort}/`, { headers: { Host: "a.test" } });
      cleanups.push(() => socket.terminate());
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      const said = async (text: string) => {
        const answer = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
        socket.send(text);
        return await answer;
      };
      expect(await said("one")).toBe("heard one");
      await proxy.put(site("a", [await named("young")]));
      expect([await said("two"), (await get("a.test")).text]).toEqual(["heard two", "young /"]);
    });

    test("a large body arrives whole, both ways", async () => {
      const mirror = await upstream((request, response) => void request.pipe(response));
      await proxy.put(site("a", [mirror]));
      const body = "0123456789abcdef".repeat(1 << 17);
      const answer = await ask(world.httpPort, { host: "a.test", method: "POST", body });
      expect([answer.status, answer.text === body]).toEqual([200, true]);
    });

    test("sync leaves the given sites and no others", async () => {
      const [one, two] = [await named("one"), await named("two")];
      await proxy.put(site("a", [one]));
      await proxy.put(site("b", [one]));
      const sites: readonly Site[] = [site("b", [two]), site("c", [two])];
      await proxy.sync(sites);
      const answers = await Promise.all(["a", "b", "c"].map((id) => get(`${id}.test`)));
      expect(answers.map(({ status }) => status)).toEqual([404, 200, 200]);
      expect(answers.slice(1).map(({ text }) => text)).toEqual(["two /", "two /"]);
    });

    test("changes that are made at once all take effect", async () => {
      const upstreams = await Promise.all(["one", "two", "three", "four"].map(named));
      await Promise.all(upstreams.map((each, at) => proxy.put(site(`s${at}`, [each]))));
      const answers = await Promise.all(upstreams.map((_, at) => get(`s${at}.test`)));
      expect(answers.map(({ text }) => text)).toEqual(["one /", "two /", "three /", "four /"]);
    });

    test("what texts of a site contain changes nothing for others", async () => {
      const [victim, own] = [await named("victim"), await named("own")];
      await proxy.put(site("victim", [victim]));
      const name = '`) || Host(`victim.test`) {env.PATH}\n"}]';
      await proxy.put(site("a", [own], { name, requestHeaders: { "X-A": "`) || Host(`victim.test" } }));
      expect((await get("victim.test")).text).toBe("victim /");
      expect((await get("a.test")).text).toBe("own /");
      await proxy.put(site("a", [], { name }));
      expect([(await get("a.test")).status, (await get("victim.test")).text]).toEqual([503, "victim /"]);
    });

    test("routes stay while no control plane is there, and the next one changes them", async () => {
      const [one, two] = [await named("one"), await named("two")];
      await proxy.put(site("a", [one]));
      proxy = await world.reincarnate();
      expect((await get("a.test")).text).toBe("one /");
      await proxy.put(site("a", [two]));
      expect((await get("a.test")).text).toBe("two /");
    });

    test("a public URL names the proxy's own port", () => {
      expect(proxy.publicUrl("http://a.test/x")).toBe(`http://a.test:${world.httpPort}/x`);
    });
  });
}
