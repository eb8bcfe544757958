import { connect, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { until } from "@berth/testing";
import { describe, expect, it } from "vitest";
import { ask, HOST, listen, site, startUpstream } from "./proxy.fixture.ts";
import { useProxy } from "./use-proxy.fixture.ts";

const front = useProxy();

describe("an application that hangs up", () => {
  /** Answers the first request of a connection and closes it on the second. */
  async function serveOnce(): Promise<{ readonly methods: string[] }> {
    const methods: string[] = [];
    const server: TcpServer = createTcpServer((socket) => {
      let requests = 0;
      socket.on("error", () => {});
      socket.on("data", (data) => {
        const [method = ""] = data.toString().split(" ");
        methods.push(method);
        requests++;
        if (requests > 1) socket.destroy();
        else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n${method === "HEAD" ? "" : "ok"}`);
      });
    });
    const port = await listen(server);
    front.cleanUp(async () => server.close());
    await front.proxy.put(site("a", [{ host: HOST, port }]));
    return { methods };
  }

  it.each(["GET", "HEAD", "OPTIONS", "DELETE"])(
    "is asked again when it hung up on a kept connection: %s",
    async (method) => {
      const { methods } = await serveOnce();
      for (let count = 1; count <= 4; count++) {
        expect((await ask(front.port, { host: "a.test", method })).status).toBe(200);
      }
      // Each connection handles one request and drops the next, which is repeated on another connection.
      expect(methods.length).toBe(7);
    },
  );

  it.each([
    ["POST", undefined],
    ["POST", "body"],
    ["PATCH", "body"],
    ["PUT", "body"],
  ])("never gets a %s with body %s twice", async (method, body) => {
    const { methods } = await serveOnce();
    expect((await ask(front.port, { host: "a.test" })).status).toBe(200);
    const headers = body === undefined ? {} : { "Content-Length": body.length };
    const answer = await ask(front.port, { host: "a.test", method, headers, ...(body === undefined ? {} : { body }) });
    expect([answer.status, methods]).toEqual([502, ["GET", method]]);
    expect(answer.text).toContain("app-a");
  });

  it("is not asked again on a connection of this request's own", async () => {
    let requests = 0;
    await front.serve((request) => {
      requests++;
      request.socket.destroy();
    });
    expect((await ask(front.port, { host: "a.test" })).status).toBe(502);
    expect(requests).toBe(1);
  });

  it("or answers nonsense is reported as the application's failure", async () => {
    for (const nonsense of ["hello\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"]) {
      const server = createTcpServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => socket.end(nonsense));
      });
      const port = await listen(server);
      front.cleanUp(async () => server.close());
      await front.proxy.put(site("a", [{ host: HOST, port }]));
      expect((await ask(front.port, { host: "a.test" })).status).toBe(502);
    }
  });
});

describe("several upstreams", () => {
  it("take turns", async () => {
    const hits = [0, 0, 0];
    const upstreams = await Promise.all(
      hits.map((_count, index) =>
        startUpstream((_request, response) => {
          hits[index] = (hits[index] ?? 0) + 1;
          response.end();
        }),
      ),
    );
    for (const { stop } of upstreams) front.cleanUp(stop);
    await front.proxy.put(site("a", upstreams));
    for (let count = 0; count < 9; count++) await ask(front.port, { host: "a.test" });
    expect(hits).toEqual([3, 3, 3]);
  });

  it("cover for those that refuse, bodies included", async () => {
    const alive = await startUpstream((request, response) => request.pipe(response));
    const dead = await Promise.all([1, 2].map(() => startUpstream(() => {})));
    await Promise.all(dead.map(({ stop }) => stop()));
    front.cleanUp(alive.stop);
    await front.proxy.put(site("a", [...dead, alive]));
    const body = "x".repeat(1_000_000);
    for (let count = 0; count < 6; count++) {
      expect((await ask(front.port, { host: "a.test", method: "POST", body })).text).toBe(body);
    }
  });
});

describe("a client that goes away", () => {
  it("ends the request to the application, before the answer and in its middle", async () => {
    let closed = 0;
    let started = 0;
    const upstream = await front.serve((request, response) => {
      started++;
      response.once("close", () => closed++);
      if (request.url === "/stream") response.write("first");
    });
    for (const path of ["/wait", "/stream"]) {
      const socket = connect(front.port, HOST, () => socket.write(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`));
      const before = started;
      await until(() => started > before, { what: "the application has the request" });
      expect(await front.proxy.inFlight(upstream)).toBe(1);
      socket.destroy();
      await until(() => closed === started, { what: "the application sees the end" });
      await until(async () => (await front.proxy.inFlight(upstream)) === 0, { what: "nothing is in flight" });
    }
  });

  it("leaves the application an upload that is visibly broken off", async () => {
    const seen: string[] = [];
    await front.serve((request) => {
      request.on("error", () => seen.push("error"));
      request.on("end", () => seen.push("end"));
      request.resume();
    });
    const socket = connect(front.port, HOST, () => {
      socket.write("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf", () => socket.destroy());
    });
    await until(() => seen.length > 0, { what: "the application sees the end" });
    expect(seen).toEqual(["error"]);
  });
});
