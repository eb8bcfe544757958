import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { until } from "@berth/testing";
import { describe, expect, it } from "vitest";
import { ask, exchange, HOST, listen, readAll, site } from "./proxy.fixture.ts";
import { useProxy } from "./use-proxy.fixture.ts";

const front = useProxy();

const echoHead = (request: IncomingMessage, response: ServerResponse) =>
  response.end(JSON.stringify({ method: request.method, url: request.url, raw: request.rawHeaders }));

/** Headers that the upstream received: names in lower case, each with all its values. */
function received(text: string): Record<string, string[]> {
  const { raw } = JSON.parse(text) as { raw: string[] }; // Written by `echoHead`.
  const headers: Record<string, string[]> = {};
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]?.toLowerCase() ?? "";
    headers[name] = [...(headers[name] ?? []), raw[index + 1] ?? ""];
  }
  return headers;
}

describe("what reaches the application", () => {
  it("is the request as it was sent, with what is known of the client", async () => {
    await front.serve(echoHead);
    const { text } = await ask(front.port, {
      host: "A.test:8080",
      path: "/x//y/../%2e%2E;p?q=1&q=2",
      method: "PROPFIND",
      headers: { Cookie: "a=1", "X-Odd": ["one", "two"], "user-agent": "curl" },
    });
    expect(JSON.parse(text)).toMatchObject({ method: "PROPFIND", url: "/x//y/../%2e%2E;p?q=1&q=2" });
    expect(received(text)).toEqual({
      host: ["A.test:8080"],
      cookie: ["a=1"],
      "x-odd": ["one", "two"],
      "user-agent": ["curl"],
      "x-forwarded-for": [HOST],
      "x-forwarded-proto": ["http"],
      "x-forwarded-host": ["A.test:8080"],
      "x-forwarded-port": ["8080"],
      "x-real-ip": [HOST],
      "x-request-id": [expect.stringMatching(/^[\w-]{8,}$/)],
      "content-length": ["0"],
      connection: ["keep-alive"],
    });
  });

  it.each([
    ["/api", "/"],
    ["/api?q=1", "/?q=1"],
    ["/api/", "/"],
    ["/api/x/y?q=/api", "/x/y?q=/api"],
    ["/api/%61//b", "/%61//b"],
  ])("is %s as %s when the path of its route is taken away, and what was taken is told", async (path, target) => {
    const routes = [{ host: "strip.test", path: "/api" }];
    const upstream = await front.serve(echoHead);
    await front.proxy.put(site("strip", [upstream], { routes, isPrefixStripped: true }));
    const { text } = await ask(front.port, { host: "strip.test", path, headers: { "X-Forwarded-Prefix": "/forged" } });
    expect(JSON.parse(text)).toMatchObject({ url: target });
    expect(received(text)["x-forwarded-prefix"]).toEqual(["/api"]);
  });

  it("holds nothing that a client made up about itself", async () => {
    await front.serve(echoHead);
    const forged = {
      "X-Forwarded-For": "6.6.6.6",
      x_forwarded_for: "6.6.6.6",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Host": "evil.test",
      "X-Forwarded-Port": "1",
      "X-Real-IP": "6.6.6.6",
      X_Real_IP: "6.6.6.6",
      Forwarded: "for=6.6.6.6",
    };
    const { text } = await ask(front.port, { host: "a.test", headers: forged });
    expect(text).not.toMatch(/6\.6\.6\.6|evil|https/);
    expect(received(text)["x-forwarded-for"]).toEqual([HOST]);
    expect(received(text)["x-forwarded-port"]).toEqual(["80"]);
  });

  it("holds no header of this hop, nor one that the client declares to be", async () => {
    await front.serve(echoHead);
    const raw = [
      "GET / HTTP/1.1",
      "Host: a.test",
      "Connection: close, X-Secret, Host, TE",
      "X-Secret: 1",
      "Keep-Alive: timeout=9",
      "Proxy-Connection: keep-alive",
      "TE: trailers",
      "Upgrade: h2c",
      "HTTP2-Settings: AAMAAABkAAQAAP__",
    ];
    const [, body = ""] = (await exchange(front.port, `${raw.join("\r\n")}\r\n\r\n`)).split("\r\n\r\n");
    const headers = received(body.slice(body.indexOf("{"), body.lastIndexOf("}") + 1));
    expect(headers).toMatchObject({ host: ["a.test"], te: ["trailers"], connection: ["keep-alive, TE"] });
    for (const name of ["x-secret", "keep-alive", "proxy-connection", "upgrade", "http2-settings"]) {
      expect(headers).not.toHaveProperty(name);
    }
  });

  it("keeps the client's id of the request when it is a plain word, and makes one otherwise", async () => {
    await front.serve(echoHead);
    const given = await ask(front.port, { host: "a.test", headers: { "X-Request-Id": "abc-123" } });
    expect([received(given.text)["x-request-id"], given.headers["x-request-id"]]).toEqual([["abc-123"], "abc-123"]);
    const odd = await ask(front.port, { host: "a.test", headers: { "X-Request-Id": "<script>" } });
    expect(received(odd.text)["x-request-id"]).toEqual([odd.headers["x-request-id"]]);
    expect(odd.headers["x-request-id"]).toMatch(/^[\w-]+$/);
  });

  it("is every kind of body, byte for byte", async () => {
    await front.serve((request, response) => request.pipe(response));
    for (const size of [0, 1, 1000, 65_536, 300_000]) {
      const body = "é1".repeat(size / 2);
      expect((await ask(front.port, { host: "a.test", method: "POST", body })).text).toBe(body);
      const chunked = { "Transfer-Encoding": "chunked" };
      expect((await ask(front.port, { host: "a.test", method: "PUT", headers: chunked, body })).text).toBe(body);
      expect((await ask(front.port, { host: "a.test", method: "GET", headers: chunked, body })).text).toBe(body);
    }
  });

  it("gets the head of a request at once, however late its body comes", async () => {
    let isSeen = false;
    await front.serve((request, response) => {
      isSeen = true;
      request.pipe(response);
    });
    const sent = request({ host: HOST, port: front.port, method: "POST", headers: { host: "a.test" } });
    sent.flushHeaders();
    await until(() => isSeen, { what: "the head has come" });
    const answer = new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
    sent.end("late");
    expect((await readAll(await answer)).toString()).toBe("late");
  });
});

describe("what reaches the client", () => {
  it("is status, message, headers and cookies of the application", async () => {
    await front.serve((_request, response) => {
      response.writeHead(418, "Short And Stout", [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["Connection", "X-Hop"],
        ["X-Hop", "1"],
        ["X-Latin", "caf\u00e9"],
        ["Server", "mine"],
      ]);
      response.end("tea");
    });
    const text = await exchange(front.port, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 418 Short And Stout\r\n/);
    expect(text).toContain("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n");
    expect(text).toContain("X-Latin: caf\u00e9\r\nServer: mine\r\n");
    expect(text).not.toContain("X-Hop");
  });

  it("has no body where there is none", async () => {
    await front.serve((request, response) => {
      if (request.url === "/204") response.writeHead(204).end();
      else if (request.url === "/304") response.writeHead(304, { ETag: '"x"' }).end();
      else response.writeHead(200, { "Content-Length": 1234 }).end();
    });
    const head = await ask(front.port, { host: "a.test", method: "HEAD" });
    expect([head.status, head.headers["content-length"], head.text]).toEqual([200, "1234", ""]);
    expect(await ask(front.port, { host: "a.test", path: "/204" })).toMatchObject({ status: 204, text: "" });
    const unchanged = await ask(front.port, { host: "a.test", path: "/304" });
    expect([unchanged.status, unchanged.headers.etag, unchanged.text]).toEqual([304, '"x"', ""]);
  });

  it("includes trailers, both ways", async () => {
    await front.serve(async (request, response) => {
      await readAll(request);
      response.writeHead(200, { Trailer: "X-Sum" });
      response.write("body");
      response.addTrailers({ "X-Sum": `got ${request.trailers["x-part"]}` });
      response.end();
    });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: "a.test", Trailer: "X-Part", "Transfer-Encoding": "chunked" };
      const sent = request({ host: HOST, port: front.port, method: "POST", headers, agent: false }, resolve);
      sent.once("error", reject);
      sent.write("x");
      sent.addTrailers({ "X-Part": "7" });
      sent.end();
    });
    await readAll(answer);
    expect(answer.headers.trailer).toBe("X-Sum");
    expect(answer.trailers).toEqual({ "x-sum": "got 7" });
  });

  it("includes early hints", async () => {
    await front.serve((_request, response) => {
      response.writeEarlyHints({ link: "</a.css>; rel=preload" }, () => response.end("done"));
    });
    const text = await exchange(front.port, "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  it("is an event the moment it is sent", async () => {
    let stream: ServerResponse | undefined;
    await front.serve((_request, response) => {
      stream = response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.flushHeaders();
    });
    const sent = request({ host: HOST, port: front.port, headers: { host: "a.test" } }).end();
    const answer = await new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
    let text = "";
    answer.on("data", (chunk) => {
      text += chunk;
    });
    for (let number = 1; number <= 3; number++) {
      stream?.write(`data: ${number}\n\n`);
      await until(() => text.endsWith(`data: ${number}\n\n`), { what: `event ${number} has come` });
    }
    stream?.end();
    await until(() => answer.complete, { what: "the stream has ended" });
    expect(text).toBe("data: 1\n\ndata: 2\n\ndata: 3\n\n");
  });

  it("is understood by a client of HTTP/1.0", async () => {
    await front.serve((_request, response) => {
      response.write("one ");
      response.end("two");
    });
    const text = await exchange(front.port, "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n");
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(text.endsWith("\r\n\r\none two")).toBe(true);
  });

  it.each([{ "Content-Length": 100 }, {}])("breaks off where the application's answer does: %j", async (headers) => {
    await front.serve((_request, response) => {
      response.writeHead(200, headers);
      response.write("half", () => response.destroy());
    });
    await expect(ask(front.port, { host: "a.test" })).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });

  it.each(["goes on reading", "hangs up"])(
    "is an early answer to an upload, on a connection that stays good: the application %s",
    async (what) => {
      let application: Socket | undefined;
      const server = createTcpServer((socket) => {
        application = socket.on("error", () => {});
        socket.once("data", () => socket.write("HTTP/1.1 413 Content Too Large\r\nContent-Length: 8\r\n\r\ntoo much"));
      });
      const port = await listen(server);
      front.cleanUp(async () => server.close());
      await front.proxy.put(site("a", [{ host: HOST, port }]));
      const client = connect(front.port, HOST);
      let text = "";
      client.on("data", (data) => {
        text += data;
      });
      const half = "x".repeat(1_000_000);
      client.write(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${2 * half.length}\r\n\r\n${half}`);
      await until(() => text.endsWith("too much"), { what: "the answer has come" });
      if (what === "hangs up") {
        application?.resetAndDestroy();
        await until(async () => (await front.proxy.inFlight({ host: HOST, port })) === 0, { what: "that is known" });
      }
      client.write(`${half}GET / HTTP/1.1\r\nHost: b.test\r\n\r\n`);
      await until(() => text.includes("Nothing is served at b.test"), { what: "the next answer has come" });
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      if (what !== "hangs up") {
        await until(() => (application?.bytesRead ?? 0) > 2 * half.length, { what: "all has arrived" });
      }
      client.destroy();
    },
  );
});

describe("100-continue", () => {
  it("lets the application decide whether it wants the body", async () => {
    const upstream = createServer((request, response) => request.pipe(response));
    upstream.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      if (request.url === "/no") return void response.writeHead(417).end("no");
      response.writeContinue();
      request.pipe(response);
    });
    const port = await listen(upstream);
    front.cleanUp(() => new Promise((resolve) => upstream.close(resolve)));
    await front.proxy.put(site("a", [{ host: HOST, port }]));
    const head = (path: string) => ({ host: "a.test", Expect: "100-continue", "Content-Length": 4, path });
    const sent = request({ host: HOST, port: front.port, method: "POST", headers: head("/"), agent: false });
    await new Promise((resolve) => sent.once("continue", resolve).flushHeaders());
    const answer = new Promise<IncomingMessage>((resolve) => sent.once("response", resolve));
    sent.end("body");
    expect((await readAll(await answer)).toString()).toBe("body");

    const refused = request({
      host: HOST,
      port: front.port,
      path: "/no",
      method: "POST",
      headers: head("/no"),
      agent: false,
    });
    refused.on("error", () => {}); // The connection is cut below.
    const final = await new Promise<IncomingMessage>((resolve) => refused.once("response", resolve).flushHeaders());
    expect(final.statusCode).toBe(417);
    refused.destroy();
  });
});
