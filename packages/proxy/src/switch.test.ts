import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "@berth/testing";
import { Pool } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ask,
  HOST,
  readAll,
  site,
  startProxy,
  startUpstream,
  type TestProxy,
  type TestUpstream,
} from "./proxy.fixture.ts";

const SWITCHES = 10;
const REQUESTS_MIN = 2000;

let front: TestProxy;

beforeAll(async () => {
  front = await startProxy();
});
afterAll(() => front.stop());

/** Returns the body after 0 to 15 ms, half of it delayed, with its own name. */
function startRelease(name: string): Promise<TestUpstream> {
  return startUpstream(async (request, response) => {
    const body = await readAll(request);
    await delay((body[0] ?? 0) % 16);
    response.writeHead(200, { "X-Release": name, ...(body.length % 2 === 0 ? { "Content-Length": body.length } : {}) });
    response.write(body.subarray(0, body.length >> 1));
    await delay((body[1] ?? 0) % 4);
    response.end(body.subarray(body.length >> 1));
  });
}

interface SwitchAnswer {
  readonly release: string;
  readonly isWhole: boolean;
}

type Send = (body: Buffer | undefined) => Promise<SwitchAnswer>;

/** Both clients never repeat a request. */
function nodeClient(): { readonly send: Send; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  return {
    close: () => agent.destroy(),
    send: async (body) => {
      const headers = { host: "a.test" };
      const method = body === undefined ? "GET" : "POST";
      const answer = await new Promise<IncomingMessage>((resolve, reject) => {
        request({ host: HOST, port: front.port, method, headers, agent }, resolve).once("error", reject).end(body);
      });
      const bytes = await readAll(answer);
      expect(answer.statusCode).toBe(200);
      return { release: String(answer.headers["x-release"]), isWhole: bytes.equals(body ?? Buffer.alloc(0)) };
    },
  };
}

function undiciClient(): { readonly send: Send; close(): void } {
  const pool = new Pool(`http://${HOST}:${front.port}`, { connections: 8 });
  return {
    close: () => void pool.destroy(),
    send: async (body) => {
      const method = body === undefined ? "GET" : "POST";
      const answer = await pool.request({ path: "/", method, headers: { host: "a.test" }, body: body ?? null });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      expect(answer.statusCode).toBe(200);
      return { release: String(answer.headers["x-release"]), isWhole: bytes.equals(body ?? Buffer.alloc(0)) };
    },
  };
}

describe("switching to a new release", () => {
  it("fails none of 2,000 requests on kept connections in 10 switches, each old release stopped at once", async () => {
    let release = await startRelease("0");
    await front.proxy.put(site("a", [release]));
    const results: SwitchAnswer[] = [];
    const failures: unknown[] = [];
    let isOver = false;
    const clients = [nodeClient(), undiciClient()];
    const workers = clients.flatMap(({ send }) =>
      Array.from({ length: 8 }, async (_none, worker) => {
        while (!isOver) {
          const body = worker % 2 === 0 ? undefined : randomBytes(Math.floor(Math.random() * 100_000));
          await send(body).then(
            (sent) => results.push(sent),
            (error: unknown) => failures.push(error),
          );
        }
      }),
    );
    for (let number = 1; number <= SWITCHES; number++) {
      const goal = (REQUESTS_MIN / (SWITCHES + 1)) * number;
      await until(() => results.length >= goal || failures.length > 0, {
        what: `${goal} requests are through`,
        seconds: 60,
      });
      const next = await startRelease(String(number));
      await front.proxy.put(site("a", [next]));
      const last = release;
      await until(async () => (await front.proxy.inFlight(last)) === 0, { what: "the old release is drained" });
      await last.stop();
      release = next;
    }
    await until(() => results.length >= REQUESTS_MIN || failures.length > 0, {
      what: "all requests are through",
      seconds: 60,
    });
    isOver = true;
    await Promise.all(workers);
    for (const client of clients) client.close();
    await release.stop();
    expect(failures).toEqual([]);
    expect(results.filter(({ isWhole }) => !isWhole)).toEqual([]);
    expect(new Set(results.map((sent) => sent.release)).size).toBe(SWITCHES + 1);
    // The clients kept their connections: new ones for each request would be thousands.
    expect((await front.proxy.status()).connections).toBeLessThanOrEqual(16);
  });

  it("sends every request that begins after `put` to the new release and lets the others end on the old one", async () => {
    let answer = () => {};
    const old = await startUpstream((_request, response) => {
      response.write("old ");
      answer = () => response.end("to its end");
    });
    const young = await startUpstream((_request, response) => response.end("young"));
    await front.proxy.put(site("a", [old]));
    const first = ask(front.port, { host: "a.test" });
    await until(async () => (await front.proxy.inFlight(old)) === 1, { what: "it is in flight" });
    await front.proxy.put(site("a", [young]));
    expect((await ask(front.port, { host: "a.test" })).text).toBe("young");
    expect(await front.proxy.inFlight(old)).toBe(1);
    answer();
    expect((await first).text).toBe("old to its end");
    await until(async () => (await front.proxy.inFlight(old)) === 0, { what: "it is drained" });
    await Promise.all([old.stop(), young.stop()]);
  });

  it("closes kept connections to the old release, so that it can stop without waiting for them", async () => {
    const old = await startUpstream((_request, response) => response.end("old"));
    const young = await startUpstream((_request, response) => response.end("young"));
    await front.proxy.put(site("a", [old]));
    await ask(front.port, { host: "a.test" });
    const connections = () =>
      new Promise<number>((resolve) => old.server.getConnections((_error, count) => resolve(count)));
    expect(await connections()).toBe(1);
    await front.proxy.put(site("a", [young]));
    await until(async () => (await connections()) === 0, { what: "it is closed", seconds: 2 });
    await Promise.all([old.stop(), young.stop()]);
  });
});

describe("many changes at once", () => {
  it("all take effect, in their order", async () => {
    const upstreams = await Promise.all(
      Array.from({ length: 5 }, (_none, number) => startUpstream((_request, response) => response.end(String(number)))),
    );
    const ids = Array.from({ length: 40 }, (_none, number) => `many-${number}`);
    await Promise.all(ids.flatMap((id) => upstreams.map((upstream) => front.proxy.put(site(id, [upstream])))));
    await Promise.all(ids.slice(20).map((id) => front.proxy.delete(id)));
    const answers = await Promise.all(ids.map((id) => ask(front.port, { host: `${id}.test` })));
    expect(answers.map(({ status }) => status)).toEqual(ids.map((_id, number) => (number < 20 ? 200 : 404)));
    expect(new Set(answers.slice(0, 20).map(({ text }) => text))).toEqual(new Set(["4"]));
    await Promise.all(upstreams.map(({ stop }) => stop()));
  });
});
