import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { upstreamHeaders } from "./headers.ts";
import { ask, HOST, site, startProxy, startUpstream, type TestProxy, type TestUpstream } from "./proxy.fixture.ts";
import { type Trust, trustIn } from "./trusted.ts";

let front: TestProxy;
let app: TestUpstream;

beforeAll(async () => {
  front = await startProxy({ trustedProxies: ["192.0.2.0/24", `${HOST}/32`, "2001:db8::/32"] });
  app = await startUpstream((request, response) => response.end(JSON.stringify(request.headers)));
  const routes = [
    { host: "a.test", path: "/" },
    { host: "www.a.test", path: "/", redirectToHost: "a.test" },
  ];
  await front.proxy.put(site("a", [app], { routes }));
});
afterAll(async () => {
  await front.stop();
  await app.stop();
});

describe("behind another proxy that is believed", () => {
  it("passes on what that one says of the client, without a hop for this machine itself", async () => {
    const headers = {
      "X-Forwarded-For": "9.9.9.9, 8.8.8.8",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Host": "public.test",
      "X-Forwarded-Port": "443",
      "X-Real-IP": "9.9.9.9",
    };
    expect(JSON.parse((await ask(front.port, { host: "a.test:81", headers })).text)).toMatchObject({
      host: "a.test:81",
      "x-forwarded-for": "9.9.9.9, 8.8.8.8",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "public.test",
      "x-forwarded-port": "443",
      "x-real-ip": "9.9.9.9",
    });
  });

  it("says itself what that one leaves out, and passes on no spelling that it would not have read", async () => {
    const headers = { X_Forwarded_For: "6.6.6.6", X_Real_IP: "6.6.6.6" };
    const { text } = await ask(front.port, { host: "a.test:81", headers });
    expect(text).not.toContain("6.6.6.6");
    expect(JSON.parse(text)).toMatchObject({
      "x-forwarded-for": HOST,
      "x-forwarded-proto": "http",
      "x-forwarded-host": "a.test:81",
      "x-forwarded-port": "81",
      "x-real-ip": HOST,
    });
  });

  it("redirects to the scheme that the client used", async () => {
    const secure = await ask(front.port, { host: "www.a.test", path: "/x", headers: { "X-Forwarded-Proto": "https" } });
    expect(secure.headers.location).toBe("https://a.test/x");
    const odd = await ask(front.port, {
      host: "www.a.test",
      path: "/x",
      headers: { "X-Forwarded-Proto": "javascript" },
    });
    expect(odd.headers.location).toBe("http://a.test/x");
  });
});

describe("the way of a request", () => {
  const forwardedFor = (socket: object, trustsForwarded: boolean, before: string | undefined) => {
    const headers = { host: "a.test", ...(before !== undefined && { "x-forwarded-for": before }) };
    const rawHeaders = Object.entries(headers).flat();
    // All that is read of a request.
    const request = { method: "GET", headers, rawHeaders, socket } as unknown as IncomingMessage;
    const sent = upstreamHeaders(request, { trustsForwarded, requestId: "1", prefix: "" });
    return sent.flatMap((name, index) => (name.toLowerCase() === "x-forwarded-for" ? [sent[index + 1]] : []));
  };
  const own = { localAddress: "10.0.0.1" };
  it.each([
    ["a trusted proxy of another machine", { ...own, remoteAddress: "10.0.0.2" }, true, "9.9.9.9", "9.9.9.9, 10.0.0.2"],
    ["this machine's own proxy, by loopback", { ...own, remoteAddress: "127.0.0.1" }, true, "9.9.9.9", "9.9.9.9"],
    ["the same by IPv6", { ...own, remoteAddress: "::1" }, true, "9.9.9.9", "9.9.9.9"],
    ["the same by its own address", { ...own, remoteAddress: "10.0.0.1" }, true, "9.9.9.9", "9.9.9.9"],
    ["this machine without a proxy", { ...own, remoteAddress: "127.0.0.1" }, true, undefined, "127.0.0.1"],
    ["loopback that is not trusted", { ...own, remoteAddress: "127.0.0.1" }, false, "9.9.9.9", "127.0.0.1"],
    ["a stranger", { ...own, remoteAddress: "203.0.113.7" }, false, "9.9.9.9", "203.0.113.7"],
    ["a stranger that names loopback", { ...own, remoteAddress: "203.0.113.7" }, false, "127.0.0.1", "203.0.113.7"],
  ])("of %s", (_whose, socket, trustsForwarded, before, expected) => {
    expect(forwardedFor(socket, trustsForwarded, before)).toEqual([expected]);
  });
});

describe("whom is believed", () => {
  const from = (remoteAddress: string | undefined) => ({ socket: { remoteAddress } }) as Parameters<Trust>[0]; // all it reads
  it.each([
    ["10.1.2.3", ["10.0.0.0/8"], true],
    ["::ffff:10.1.2.3", ["10.0.0.0/8"], true],
    ["11.1.2.3", ["10.0.0.0/8"], false],
    ["10.1.2.3", ["10.1.2.3"], true],
    ["10.1.2.4", ["10.1.2.3"], false],
    ["2001:db8::5", ["2001:db8::/32"], true],
    ["2001:db9::5", ["2001:db8::/32", "10.0.0.0/8"], false],
    [undefined, ["0.0.0.0/0", "::/0"], false],
    ["10.1.2.3", [], false],
  ])("%s by %j: %j", (address, ranges, expected) => {
    expect(trustIn(ranges)(from(address))).toBe(expected);
  });

  it("is nobody else: a client that says the same of itself is not", async () => {
    const other = await startProxy({ trustedProxies: ["192.0.2.0/24"] });
    await other.proxy.put(site("a", [app], { routes: [{ host: "a.test", path: "/" }] }));
    const headers = { "X-Forwarded-For": "9.9.9.9", "X-Forwarded-Proto": "https" };
    const { text } = await ask(other.port, { host: "a.test", headers });
    await other.stop();
    expect(JSON.parse(text)).toMatchObject({ "x-forwarded-for": HOST, "x-forwarded-proto": "http" });
  });
});
