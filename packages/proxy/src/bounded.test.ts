import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOST, site, startProxy, startUpstream, type TestProxy } from "./proxy.fixture.ts";

const CHUNK = Buffer.alloc(64 * 1024, "0123456789abcdef");
const CHUNKS = 2400; // 150 MiB.
const SHA256 = (() => {
  const hash = createHash("sha256");
  for (let count = 0; count < CHUNKS; count++) hash.update(CHUNK);
  return hash.digest("hex");
})();
/** Buffers of sockets and streams in three processes, while nobody reads the data. */
const IN_TRANSIT_BYTES_MAX = 20 * 1024 * 1024;
/** Read buffers that await garbage collection; sending ten times as much does not change it. */
const GROWTH_BYTES_MAX = 70 * 1024 * 1024;
const WAITING_BYTES_MAX = 20 * 1024 * 1024;

let front: TestProxy;

beforeAll(async () => {
  front = await startProxy();
});
afterAll(() => front.stop());

async function residentBytes(): Promise<number> {
  const { pid } = await front.proxy.status();
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1024;
}

/** Writes with back-pressure. `written` counts the bytes passed on so far. */
function writeAll(stream: NodeJS.WritableStream): { readonly written: () => number } {
  let chunks = 0;
  function go(): void {
    while (chunks < CHUNKS) {
      chunks++;
      if (!stream.write(CHUNK)) return void stream.once("drain", go);
    }
    stream.end();
  }
  go();
  return { written: () => chunks * CHUNK.length };
}

async function hashOf(message: IncomingMessage): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of message) hash.update(chunk);
  return hash.digest("hex");
}

/** Waits until a value no longer changes: all buffers are then full. */
async function settled(value: () => number): Promise<number> {
  let last = -1;
  let same = 0;
  await until(
    () => {
      same = value() === last ? same + 1 : 0;
      last = value();
      return same > 30;
    },
    { what: "it has stopped growing" },
  );
  return last;
}

describe("150 MiB", () => {
  it("of upload wait at the client until the application reads them, and arrive whole", async () => {
    let begin = () => {};
    const upstream = await startUpstream((request, response) => {
      begin = () => void hashOf(request).then((hash) => response.end(hash));
    });
    await front.proxy.put(site("a", [upstream]));
    const before = await residentBytes();
    const sent = request({ host: HOST, port: front.port, method: "POST", headers: { host: "a.test" }, agent: false });
    const answer = new Promise<IncomingMessage>((resolve, reject) =>
      sent.once("response", resolve).once("error", reject),
    );
    const { written } = writeAll(sent);
    await until(async () => (await front.proxy.inFlight(upstream)) === 1, { what: "the application has the request" });
    expect(await settled(written)).toBeLessThan(IN_TRANSIT_BYTES_MAX);
    expect((await residentBytes()) - before).toBeLessThan(WAITING_BYTES_MAX);
    begin();
    let text = "";
    for await (const chunk of await answer) text += chunk;
    expect(text).toBe(SHA256);
    expect((await residentBytes()) - before).toBeLessThan(GROWTH_BYTES_MAX);
    await upstream.stop();
  });

  it("of download wait at the application until the client reads them, and arrive whole", async () => {
    let written = () => 0;
    const upstream = await startUpstream((_request, response: ServerResponse) => {
      written = writeAll(response).written;
    });
    await front.proxy.put(site("a", [upstream]));
    const before = await residentBytes();
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request({ host: HOST, port: front.port, headers: { host: "a.test" }, agent: false }, resolve);
      sent.once("error", reject).end();
    });
    expect(await settled(() => written())).toBeLessThan(IN_TRANSIT_BYTES_MAX);
    expect((await residentBytes()) - before).toBeLessThan(WAITING_BYTES_MAX);
    expect(await hashOf(answer)).toBe(SHA256);
    expect((await residentBytes()) - before).toBeLessThan(GROWTH_BYTES_MAX);
    await upstream.stop();
  });
});
