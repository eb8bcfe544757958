import { connect, type Socket } from "node:net";
import { until } from "@berth/testing";
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

const LIMITS = { headersSeconds: 0.1, stallSeconds: 0.5, connections: 8 };

let front: TestProxy;
let app: TestUpstream;
let broken = 0;
let write = (_text: string) => {};

beforeAll(async () => {
  front = await startProxy({ limits: LIMITS });
  app = await startUpstream((request, response) => {
    request.on("error", () => broken++);
    if (request.url === "/upload") request.resume().on("end", () => response.end("all"));
    else if (request.url === "/big") response.end(Buffer.alloc(50_000_000));
    else if (request.url === "/events") {
      response.flushHeaders();
      write = (text) => response.write(text);
    } else response.end("ok");
  });
  await front.proxy.put(site("a", [app]));
});
afterAll(async () => {
  await front.stop();
  await app.stop();
});

function open(text: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(front.port, HOST, () => {
      socket.write(text);
      resolve(socket);
    });
    socket.once("error", reject);
  });
}

const isClosed = (socket: Socket) => socket.destroyed || socket.readableEnded;

describe("a client that holds a connection without using it", () => {
  it("is let go when the head of its request does not come", async () => {
    const text = await exchange(front.port, "GET / HTTP/1.1\r\nHost: a.test\r\nX-Slow: ");
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(await exchange(front.port, "")).toMatch(/^(HTTP\/1\.1 408 |$)/);
  });

  it("is let go in the middle of an upload, and the application learns of it", async () => {
    const before = broken;
    await exchange(front.port, "POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf");
    await until(() => broken > before, { what: "the application learns of it" });
    expect(await front.proxy.inFlight(app)).toBe(0);
  });

  it("is let go when it does not take the answer", async () => {
    const socket = await open("GET /big HTTP/1.1\r\nHost: a.test\r\n\r\n");
    socket.pause();
    await until(async () => (await front.proxy.inFlight(app)) === 1, { what: "it is in flight" });
    await until(async () => (await front.proxy.inFlight(app)) === 0, { what: "it is given up" });
    socket.destroy();
  });

  it("is not one that waits for the application, however long", async () => {
    const socket = await open("GET /events HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let text = "";
    socket.on("data", (data) => {
      text += data;
    });
    await until(() => text.includes("200 OK"), { what: "the stream has begun" });
    // Each pause is longer than a stall may be.
    for (let count = 0; count < 3; count++) {
      await exchange(front.port, "POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100\r\n\r\nhalf");
    }
    expect(isClosed(socket)).toBe(false);
    write("still here");
    await until(() => text.includes("still here"), { what: "the event has come" });
    socket.destroy();
  });

  it("is not one that uploads slowly, but steadily", async () => {
    const socket = await open("POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 12\r\n\r\n");
    let text = "";
    socket.on("data", (data) => {
      text += data;
    });
    const since = Date.now();
    for (let count = 1; count <= 12; count++) {
      await until(() => Date.now() - since >= count * 120, { what: "it is time for the next byte" });
      socket.write("x");
    }
    await until(() => text.endsWith("all"), { what: "the answer has come" });
    socket.destroy();
  });
});

describe("more connections than allowed", () => {
  it("are closed at once, and taken again when others have ended", async () => {
    await until(async () => (await front.proxy.status()).connections === 0, { what: "earlier ones have ended" });
    const get = "GET /events HTTP/1.1\r\nHost: a.test\r\n\r\n";
    const held = await Promise.all(Array.from({ length: LIMITS.connections }, () => open(get)));
    await until(async () => (await front.proxy.inFlight(app)) === LIMITS.connections, { what: "all are held" });
    await expect(ask(front.port, { host: "a.test" })).rejects.toThrow(/hang up|ECONNRESET/);
    expect(held.some(isClosed)).toBe(false);
    for (const socket of held) socket.destroy();
    await until(async () => (await front.proxy.status()).connections === 0, { what: "they have ended" });
    expect((await ask(front.port, { host: "a.test" })).text).toBe("ok");
  });
});
