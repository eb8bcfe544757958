import { readFileSync } from "node:fs";
import { connect, createServer as createTcpServer, type Socket } from "node:net";
import { until } from "@berth/testing";
import { describe, expect, it } from "vitest";
import { ask, exchange, HOST, listen, site } from "./proxy.fixture.ts";
import { useProxy } from "./use-proxy.fixture.ts";

const front = useProxy();

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";
const HINT = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone";

/** A site `a.test` whose application answers requests with raw bytes. */
async function serveRaw(answer: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.once("data", () => answer(socket));
  });
  const upstream = { host: HOST, port: await listen(server) };
  front.cleanUp(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await front.proxy.put(site("a", [upstream]));
  return { upstream, sockets };
}

const isCutOff = async ({ upstream, sockets }: Awaited<ReturnType<typeof serveRaw>>) => {
  await until(() => sockets.length > 0 && sockets.every((socket) => socket.destroyed), {
    what: "the application is cut off",
  });
  await until(async () => (await front.proxy.inFlight(upstream)) === 0, { what: "nothing is in flight" });
};

describe("what comes before an answer", () => {
  it("reaches the client 8 times at most", async () => {
    await serveRaw((socket) => socket.end(HINT.repeat(50) + OK));
    const text = await exchange(front.port, GET);
    expect(text.split(HINT)).toHaveLength(9);
    expect(text).toMatch(/HTTP\/1\.1 200 OK\r\n[\s\S]*done$/);
  });

  it.each(["102 Processing", "103 Early Hints", "100 Continue", "199 Whatever"])(
    "has an end: an application that sends %s for ever is cut off, and the client is told",
    async (status) => {
      const used = await serveRaw((socket) => socket.write(`HTTP/1.1 ${status}\r\nLink: </a>\r\n\r\n`.repeat(101)));
      expect(await exchange(front.port, GET)).toContain("HTTP/1.1 502 ");
      await isCutOff(used);
    },
  );

  it("takes no memory for a client that does not read", async () => {
    const large = `HTTP/1.1 103 Early Hints\r\nLink: </${"a".repeat(15_000)}>\r\n\r\n`;
    const used = await serveRaw((socket) => {
      const write = () => {
        while (!socket.destroyed && socket.write(large));
      };
      socket.on("drain", write);
      write();
    });
    const { pid } = await front.proxy.status();
    const residentBytes = () => {
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      return Number(kilobytes) * 1024;
    };
    const before = residentBytes();
    const clients = Array.from({ length: 20 }, () => connect(front.port, HOST));
    front.cleanUp(() => clients.map((client) => client.destroy()));
    for (const client of clients) client.pause().write(GET);
    await until(() => used.sockets.length === clients.length, { what: "every request has come" });
    await isCutOff(used);
    expect((await front.proxy.status()).pid).toBe(pid);
    expect(residentBytes() - before).toBeLessThan(50 * 1024 * 1024);
  });

  it("may be nothing that can be passed on, without harm to the answer or to others", async () => {
    const { pid } = await front.proxy.status();
    await serveRaw((socket) => socket.end(`HTTP/1.1 103 Early Hints\r\nLink: no link\r\n\r\n${OK}`));
    expect(await exchange(front.port, GET)).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*done$/);
    expect((await front.proxy.status()).pid).toBe(pid);
  });
});

describe("a switch of protocols that nobody asked for", () => {
  it.each([
    ["with the headers of one", "Connection: Upgrade\r\nUpgrade: berth/1\r\n"],
    ["without them", ""],
  ])("is reported as the application's failure: %s", async (_case, headers) => {
    const used = await serveRaw((socket) => socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers}\r\nbytes`));
    const body = "x".repeat(100_000);
    for (const asked of [{ method: "GET" }, { method: "POST", body }]) {
      const answer = await ask(front.port, { host: "a.test", ...asked });
      expect([answer.status, answer.text.includes("app-a")]).toEqual([502, true]);
    }
    await isCutOff(used);
  });
});
