import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { until } from "@berth/testing";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { exchange, HOST, listen, site, startUpstream } from "./proxy.fixture.ts";
import { useProxy } from "./use-proxy.fixture.ts";

const front = useProxy();

/** Returns every message prefixed with its name. */
async function startEcho(name: string) {
  const server = createServer((_request, response) => response.end(name));
  const sockets = new WebSocketServer({ server });
  const protocols: unknown[] = [];
  sockets.on("connection", (socket, request) => {
    protocols.push(request.rawHeaders);
    socket.on("message", (data, isBinary) => socket.send(isBinary ? data : `${name} ${data}`));
  });
  const port = await listen(server);
  const cut = () => {
    for (const socket of sockets.clients) socket.terminate();
  };
  front.cleanUp(() => {
    cut();
    server.closeAllConnections();
    server.close();
  });
  return { host: HOST, port, cut, protocols };
}

async function open(path = "/"): Promise<{ socket: WebSocket; next(): Promise<Buffer> }> {
  const socket = new WebSocket(`ws://${HOST}:${front.port}${path}`, ["chat"], { headers: { Host: "a.test" } });
  const messages: Buffer[] = [];
  // `ws` gives a Buffer for every message unless asked for another type.
  socket.on("message", (data) => messages.push(data as Buffer));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  front.cleanUp(() => socket.terminate());
  return {
    socket,
    async next() {
      await until(() => messages.length > 0, { what: "a message has come" });
      return messages.shift() ?? Buffer.alloc(0);
    },
  };
}

describe("a WebSocket", () => {
  it("reaches the application without the path of its route when that is taken away", async () => {
    const paths: unknown[] = [];
    const server = createServer();
    new WebSocketServer({ server }).on("connection", (_socket, request) => paths.push(request.url));
    const port = await listen(server);
    front.cleanUp(() => server.close());
    const routes = [{ host: "a.test", path: "/live" }];
    await front.proxy.put(site("a", [{ host: HOST, port }], { routes, isPrefixStripped: true }));
    await open("/live/chat?room=1");
    expect(paths).toEqual(["/chat?room=1"]);
  });

  it("carries messages of every size both ways and the headers of its request", async () => {
    const echo = await startEcho("old");
    await front.proxy.put(site("a", [echo]));
    const { socket, next } = await open("/chat?room=1");
    expect(socket.protocol).toBe("chat");
    socket.send("hello");
    expect((await next()).toString()).toBe("old hello");
    for (const size of [0, 1, 70_000, 3_000_000]) {
      const bytes = Buffer.alloc(size, "berth");
      socket.send(bytes, { binary: true });
      expect((await next()).equals(bytes)).toBe(true);
    }
    const headers = JSON.stringify(echo.protocols[0]);
    for (const expected of ["X-Forwarded-For", '"Upgrade"', '"Host","a.test"', "Sec-WebSocket-Key"]) {
      expect(headers).toContain(expected);
    }
  });

  it("outlives a switch, counts as in flight until it closes, and a new one goes to the new upstream", async () => {
    const [old, young] = [await startEcho("old"), await startEcho("young")];
    await front.proxy.put(site("a", [old]));
    const first = await open();
    expect(await front.proxy.inFlight(old)).toBe(1);
    await front.proxy.put(site("a", [young]));
    first.socket.send("still here");
    expect((await first.next()).toString()).toBe("old still here");
    const second = await open();
    second.socket.send("hello");
    expect((await second.next()).toString()).toBe("young hello");
    expect([await front.proxy.inFlight(old), await front.proxy.inFlight(young)]).toEqual([1, 1]);
    first.socket.close(4001, "bye");
    await until(async () => (await front.proxy.inFlight(old)) === 0, { what: "it is no longer in flight" });
    expect(await front.proxy.inFlight(young)).toBe(1);
  });

  it("passes on how it was closed, from either end", async () => {
    const echo = await startEcho("old");
    await front.proxy.put(site("a", [echo]));
    const { socket } = await open();
    const closed = new Promise((resolve) => socket.once("close", (code, reason) => resolve([code, reason.toString()])));
    socket.close(4001, "bye");
    expect(await closed).toEqual([4001, "bye"]);

    const other = await open();
    const cut = new Promise((resolve) => other.socket.once("close", resolve));
    echo.cut();
    expect(await cut).toBe(1006);
    await until(async () => (await front.proxy.inFlight(echo)) === 0, { what: "nothing is in flight" });
  });

  it("ends at the application when its client vanishes", async () => {
    const echo = await startEcho("old");
    await front.proxy.put(site("a", [echo]));
    const { socket } = await open();
    socket.terminate();
    await until(async () => (await front.proxy.inFlight(echo)) === 0, { what: "nothing is in flight" });
  });
});

const ASK = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: berth/1\r\n\r\n";

describe("any other upgrade", () => {
  it("carries what either side sends early, and half-closed connections to their end", async () => {
    const upstream = createServer();
    upstream.on("upgrade", (_request, socket) => {
      socket.write("HTTP/1.1 101 As You Like\r\nConnection: Upgrade\r\nUpgrade: berth/1\r\nX-A: 1\r\n\r\nearly,");
      let text = "";
      socket.on("data", (data) => {
        text += data;
      });
      socket.on("end", () => socket.end(`and ${text}`));
    });
    const port = await listen(upstream);
    front.cleanUp(() => upstream.close());
    await front.proxy.put(site("a", [{ host: HOST, port }]));
    const client = connect({ port: front.port, host: HOST, allowHalfOpen: true });
    let text = "";
    client.on("data", (data) => {
      text += data;
    });
    client.write(`${ASK}soon`);
    await until(() => text.includes("early"), { what: "the application has answered" });
    expect(text).toBe("HTTP/1.1 101 As You Like\r\nConnection: Upgrade\r\nUpgrade: berth/1\r\nX-A: 1\r\n\r\nearly,");
    client.end("later");
    await until(() => text.endsWith("early,and soonlater"), { what: "the application has ended" });
    client.destroy();
  });

  it("ends on both sides when one is cut off without a word", async () => {
    const ends: Socket[] = [];
    const upstream = createServer();
    upstream.on("upgrade", (_request, socket: Socket) => {
      ends.push(socket);
      socket.on("error", () => {});
      socket.on("end", () => socket.end()).resume();
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: berth/1\r\n\r\n");
    });
    const port = await listen(upstream);
    front.cleanUp(() => upstream.close());
    await front.proxy.put(site("a", [{ host: HOST, port }]));
    for (const cut of ["client", "application"]) {
      const client = connect(front.port, HOST, () => client.write(ASK));
      await new Promise((resolve) => client.on("error", () => {}).once("data", resolve));
      const [application] = ends.splice(0);
      (cut === "client" ? client : application)?.resetAndDestroy();
      await until(() => client.closed && application?.closed === true, { what: "both have ended" });
      await until(async () => (await front.proxy.inFlight({ host: HOST, port })) === 0, {
        what: "nothing is in flight",
      });
    }
  });

  it("that the application declines gets its plain answer", async () => {
    const big = "x".repeat(2_000_000);
    const upstream = await startUpstream((request, response) => {
      response.writeHead(426, { Upgrade: "other/1" }).end(`${request.headers.upgrade} ${big}`);
    });
    front.cleanUp(upstream.stop);
    await front.proxy.put(site("a", [upstream]));
    const text = await exchange(front.port, ASK);
    expect(text).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n[\s\S]*Connection: close\r\n/);
    expect(text.replaceAll(/\r\n[0-9a-f]+\r\n/g, "").includes(`berth/1 ${big.slice(0, 1000)}`)).toBe(true);
    expect(text.length).toBeGreaterThan(big.length);
  });

  it("gets the pages of the proxy where there is no application", async () => {
    expect(await exchange(front.port, ASK)).toMatch(/^HTTP\/1\.1 404 [\s\S]*Nothing is served at a\.test/);
    await front.proxy.put(site("a", []));
    expect(await exchange(front.port, ASK)).toMatch(/^HTTP\/1\.1 503 [\s\S]*The application app-a is down/);
    const gone = await startUpstream(() => {});
    await gone.stop();
    await front.proxy.put(site("a", [gone]));
    expect(await exchange(front.port, ASK)).toMatch(/^HTTP\/1\.1 503 /);
    const rude = await startUpstream(() => {});
    rude.server.on("upgrade", (_request, socket) => socket.destroy());
    front.cleanUp(rude.stop);
    await front.proxy.put(site("a", [gone, rude]));
    expect(await exchange(front.port, ASK)).toMatch(/^HTTP\/1\.1 502 /);
  });

  it.each([
    [
      "HTTP/2 without TLS",
      "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
      "",
    ],
    [
      "a body",
      "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade, close\r\nUpgrade: berth/1\r\nContent-Length: 4\r\n\r\nbody",
      "body",
    ],
  ])("is answered as if it had not been asked for: %s", async (_case, bytes, body) => {
    const upstream = await startUpstream((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.on("end", () => response.end(`plain ${request.headers.upgrade} ${Buffer.concat(chunks)}.`));
    });
    front.cleanUp(upstream.stop);
    await front.proxy.put(site("a", [upstream]));
    const text = await exchange(front.port, bytes);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    expect(text).toContain(`plain undefined ${body}.`);
  });
});
