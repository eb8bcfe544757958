import { expect, test } from "vitest";
import { ask, site } from "../proxy.fixture.ts";
import { type ConformanceBed, received } from "./bed.fixture.ts";

/** Each request reaches the application of its host and path, and no other one. */
export function routeGuarantees(bed: ConformanceBed): void {
  const { named, echoHead, get, lacks } = bed;

  test("a site answers for each of its hosts and paths, and no other does", async () => {
    const [root, api] = [await named("root"), await named("api")];
    const routes = ["one.test", "two.test", "[::1]"].map((host) => ({ host, path: "/" }));
    await bed.proxy.put(site("root", [root], { routes }));
    await bed.proxy.put(site("api", [api], { routes: [{ host: "one.test", path: "/api" }] }));
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
    await bed.proxy.delete("root");
    await bed.proxy.delete("root");
    expect((await get("one.test", "/")).status).toBe(404);
    expect((await get("one.test", "/api")).text).toBe("api /api");
  });

  test("a path that another reading leads to another application is refused", async () => {
    const [root, api] = [await named("root"), await named("api")];
    await bed.proxy.put(site("root", [root], { routes: [{ host: "one.test", path: "/" }] }));
    await bed.proxy.put(site("api", [api], { routes: [{ host: "one.test", path: "/api" }] }));
    const tricks = ["/api/../x", "/api/..%2fx", "/api/%2e%2e/x", "/api/..;/x"];
    for (const path of tricks) expect([path, (await get("one.test", path)).status]).toEqual([path, 400]);
    for (const path of ["/api/..x", "/api/a..b/x", "/api?x=/../"])
      expect([path, (await get("one.test", path)).text]).toEqual([path, `api ${path}`]);
  });

  test("the path of a route is taken away where that is asked for", async () => {
    const routes = ["/api", "/caf%C3%A9"].map((path) => ({ host: "a.test", path }));
    await bed.proxy.put(site("a", [await echoHead()], { routes, isPrefixStripped: true }));
    for (const [path, url] of [
      ["/api", "/"],
      ["/api/x?y=1", "/x?y=1"],
      ["/caf%C3%A9/x", "/x"],
    ] as const)
      expect(received(await get("a.test", path)).url).toBe(url);
    const { headers } = received(await get("a.test", "/api/x", { "X-Forwarded-Prefix": "/forged" }));
    expect(headers["x-forwarded-prefix"]).toBe("/api");
  });

  test("a request goes to the port that its URL names", async (context) => {
    if (lacks(context, "upstreamPorts")) return;
    const [first, second] = [await named("first"), await named("second")];
    const routes = [
      { host: "a.test", path: "/" },
      { host: "b.test", path: "/", upstreamPort: second.port },
    ];
    await bed.proxy.put(site("a", [first], { routes }));
    expect([(await get("a.test")).text, (await get("b.test")).text]).toEqual(["first /", "second /"]);
  });

  test("one host is redirected to the other, with path and query", async () => {
    const routes = [
      { host: "a.test", path: "/" },
      { host: "www.a.test", path: "/", redirectToHost: "a.test" },
    ];
    await bed.proxy.put(site("a", [await named("a")], { routes }));
    const { status, headers } = await get("www.a.test", "/x?y=1");
    expect([status, headers.location]).toEqual([308, expect.stringMatching(/^http:\/\/a\.test(:\d+)?\/x\?y=1$/)]);
  });

  test("requests are shared between the upstreams of a site", async () => {
    const upstreams = [await named("one"), await named("two"), await named("three")];
    await bed.proxy.put(site("a", upstreams));
    const answering = async (requests: number) => {
      const answers = await Promise.all(Array.from({ length: requests }, () => get("a.test")));
      return [...new Set(answers.map(({ text }) => text))].sort();
    };
    expect(await answering(6)).toEqual(["one /", "three /", "two /"]);
    await bed.proxy.put(site("a", upstreams.slice(1)));
    expect(await answering(6)).toEqual(["three /", "two /"]);
  });

  test("a request goes to another upstream where one takes no connection", async () => {
    const [one, gone, two] = [await named("one"), await named("gone"), await named("two")];
    await gone.stop();
    await bed.proxy.put(site("a", [one, gone, two]));
    const asked = Array.from({ length: 12 }, (_none, at) =>
      ask(bed.httpPort, { host: "a.test", path: `/${at}`, method: at % 2 === 0 ? "GET" : "POST" }),
    );
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ text }) => text.split(" ")[0]))).toEqual(new Set(["one", "two"]));
  });

  test("a site that is down says so, and so does one whose application does not answer", async () => {
    const stopped = await named("gone");
    await stopped.stop();
    await bed.proxy.put(site("a", []));
    await bed.proxy.put(site("b", [stopped]));
    expect((await get("a.test")).status).toBe(503);
    expect([502, 503]).toContain((await get("b.test")).status);
  });

  test("what texts of a site contain changes nothing for others", async () => {
    const [victim, own] = [await named("victim"), await named("own")];
    await bed.proxy.put(site("victim", [victim]));
    const name = '`) || Host(`victim.test`) {env.PATH}\n"}]';
    await bed.proxy.put(site("a", [own], { name, requestHeaders: { "X-A": "`) || Host(`victim.test" } }));
    expect((await get("victim.test")).text).toBe("victim /");
    expect((await get("a.test")).text).toBe("own /");
    await bed.proxy.put(site("a", [], { name }));
    expect([(await get("a.test")).status, (await get("victim.test")).text]).toEqual([503, "victim /"]);
  });

  test("a public URL names the proxy's own port", () => {
    expect(bed.proxy.publicUrl("http://a.test/x")).toBe(`http://a.test:${bed.httpPort}/x`);
  });
}
