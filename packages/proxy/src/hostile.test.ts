import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ask,
  exchange,
  HOST,
  site,
  startProxy,
  startUpstream,
  type TestProxy,
  type TestUpstream,
} from "./proxy.fixture.ts";

let front: TestProxy;
let upstreams: TestUpstream[];
let reached: string[] = [];

beforeAll(async () => {
  front = await startProxy();
  upstreams = await Promise.all(
    ["web", "api"].map((name) =>
      startUpstream((request, response) => {
        reached.push(`${name} ${request.method} ${request.url}`);
        request.resume();
        response.end(name);
      }),
    ),
  );
  const [web, api] = upstreams;
  if (web === undefined || api === undefined) throw new Error("No upstream was started.");
  await front.proxy.sync([
    site("web", [web], { routes: [{ host: "a.test", path: "/" }] }),
    site("api", [api], { routes: [{ host: "a.test", path: "/api" }] }),
  ]);
});
afterAll(async () => {
  await front.stop();
  await Promise.all(upstreams.map(({ stop }) => stop()));
});

/** Statuses of the answers on one connection, and the requests that reached the applications. */
async function send(bytes: string): Promise<{ readonly statuses: number[]; readonly reached: string[] }> {
  reached = [];
  const text = await exchange(front.port, bytes);
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status));
  return { statuses, reached };
}

const head = (...lines: string[]) => `${lines.join("\r\n")}\r\n\r\n`;
const CLOSE = "Connection: close";

describe("a request that two readers could split differently", () => {
  it.each([
    ["both lengths", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 4", "Transfer-Encoding: chunked")],
    [
      "both lengths, the other way round",
      head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: chunked", "Content-Length: 4"),
    ],
    ["two lengths", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 4", "Content-Length: 5")],
    ["two equal lengths", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: 0", "Content-Length: 0")],
    ["a length that is none", head("POST / HTTP/1.1", "Host: a.test", "Content-Length: +4")],
    ["an unknown coding", head("POST / HTTP/1.1", "Host: a.test", CLOSE, "Transfer-Encoding: gzip, chunked")],
    ["a hidden coding", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding: xchunked")],
    ["a coding with a space in its name", head("POST / HTTP/1.1", "Host: a.test", "Transfer-Encoding : chunked")],
    ["a folded header", head("POST / HTTP/1.1", "Host: a.test", "X: 1", " Content-Length: 4")],
    ["a bare line feed", "GET / HTTP/1.1\nHost: a.test\n\n"],
    ["two hosts", head("GET / HTTP/1.1", "Host: a.test", "Host: b.test", CLOSE)],
    ["no host", head("GET / HTTP/1.1", CLOSE)],
    ["a host in its target", head("GET http://b.test/ HTTP/1.1", "Host: a.test", CLOSE)],
    ["no path", head("OPTIONS * HTTP/1.1", "Host: a.test", CLOSE)],
  ])("is refused: %s", async (_case, bytes) => {
    const smuggled = "GET /smuggled HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
    const seen = await send(bytes + smuggled);
    expect(seen.statuses[0]).toBeGreaterThanOrEqual(400);
    expect(seen.reached).toEqual([]);
  });

  it("is refused when its body is coded in a way that is not undone here", async () => {
    const coded = head("POST / HTTP/1.1", "Host: a.test", CLOSE, "Transfer-Encoding: gzip, chunked");
    expect(await send(`${coded}0\r\n\r\n`)).toEqual({ statuses: [501], reached: [] });
    const plain = head("POST / HTTP/1.1", "Host: a.test", CLOSE, "Transfer-Encoding: Chunked");
    expect(await send(`${plain}0\r\n\r\n`)).toEqual({ statuses: [200], reached: ["web POST /"] });
  });

  it("is no tunnel either", async () => {
    expect((await send(head("CONNECT a.test:443 HTTP/1.1", "Host: a.test"))).reached).toEqual([]);
  });
});

describe("pipelined requests", () => {
  it("are answered in their order", async () => {
    const bytes = head("GET /1 HTTP/1.1", "Host: a.test") + head("GET /api/2 HTTP/1.1", "Host: a.test", CLOSE);
    const text = await exchange(front.port, bytes);
    expect(text.indexOf("\r\n\r\nweb")).toBeLessThan(text.indexOf("\r\n\r\napi"));
  });
});

describe("hosts and paths", () => {
  it("reach an application only below its own prefix, and never one at fault", async () => {
    const part = fc.constantFrom(
      "api",
      "..",
      "%2e%2e",
      ".",
      "%2f",
      "\\",
      ";",
      "x",
      "//",
      "%00",
      "%",
      "%zz",
      "é",
      "'",
      '"',
      "<",
      "|",
      "{",
      "^",
      "`",
    );
    const path = fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`);
    const host = fc.constantFrom(
      "a.test",
      "A.TEST.",
      "a.test:80",
      "a.test:",
      "b.test",
      "a.test@b",
      "..",
      "[",
      "<b>",
      "a.test, b.test",
      "%61.test",
    );
    await fc.assert(
      fc.asyncProperty(host, path, async (name, target) => {
        const seen = await send(head(`GET ${target} HTTP/1.1`, `Host: ${name}`, CLOSE));
        expect(seen.statuses).toHaveLength(1);
        expect([200, 400, 404]).toContain(seen.statuses[0]);
        for (const line of seen.reached) {
          const isApi = /^\/api(\/|$)/.test(target);
          expect(line).toBe(`${isApi ? "api" : "web"} GET ${target}`);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("may be any bytes at all without harm to others", async () => {
    const { pid } = await front.proxy.status();
    const bytes = fc.oneof(
      fc.string({ unit: "binary-ascii" }),
      fc.string().map((text) => `GET /${text} HTTP/1.1\r\nHost: a.test\r\n\r\n`),
      fc.string().map((text) => `GET / HTTP/1.1\r\nHost: ${text}\r\nConnection: close\r\n\r\n`),
      fc
        .tuple(fc.string(), fc.string())
        .map(([name, value]) => `GET / HTTP/1.1\r\nHost: a.test\r\nX${name}: ${value}\r\nConnection: close\r\n\r\n`),
      fc.string().map((text) => `POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n${text}`),
    );
    await fc.assert(
      fc.asyncProperty(bytes, async (sent) => {
        await new Promise<void>((resolve) => {
          const socket = connect(front.port, HOST, () => socket.end(sent, "latin1"));
          socket.on("error", () => {});
          socket.resume();
          socket.once("close", () => resolve());
        });
      }),
      { numRuns: 300 },
    );
    expect((await ask(front.port, { host: "a.test" })).text).toBe("web");
    expect((await front.proxy.status()).pid).toBe(pid);
  });
});

describe("limits", () => {
  it("are set to the size of a head, far above what a browser sends", async () => {
    const long = (bytes: number) => ask(front.port, { host: "a.test", headers: { Cookie: "x".repeat(bytes) } });
    expect((await long(20_000)).status).toBe(200);
    expect((await long(40_000)).status).toBe(431);
  });

  it("are not passed around by many small headers", async () => {
    const many = Array.from({ length: 3000 }, (_none, index) => `X${index}: 1`);
    expect((await send(head("GET / HTTP/1.1", "Host: a.test", ...many, CLOSE))).statuses).toEqual([431]);
    const some = Array.from({ length: 2500 }, () => "X: 1");
    const seen = await send(head("GET / HTTP/1.1", ...some, "Host: a.test", "Host: b.test", CLOSE));
    expect([seen.statuses, seen.reached]).toEqual([[400], []]);
  });
});
