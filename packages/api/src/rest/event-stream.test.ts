import { connect, type Socket } from "node:net";
import { until } from "@berth/testing";
import { afterEach, describe, expect, it } from "vitest";
import { ask, type Example, example } from "../example.fixture.ts";

const open: Example[] = [];
afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

async function served() {
  const it = example();
  open.push(it);
  const base = await it.app.listen({ port: 0, host: "127.0.0.1" });
  return { ...it, url: `${base}/api/v1`, port: Number(new URL(base).port) };
}

const authorization = "Bearer 2|reader";

describe("a followed log", () => {
  it("is an event stream of lines with their ids, and says when it is over", async () => {
    const { url, lines } = await served();
    lines.push("one", "two");
    const response = await fetch(`${url}/notes/a/lines?until=2`, { headers: { authorization } });
    expect([response.status, response.headers.get("content-type"), response.headers.get("cache-control")]).toEqual([
      ...[200, "text/event-stream; charset=utf-8", "no-cache, no-transform"],
    ]);
    expect(await response.text()).toBe(
      [
        "retry: 1000",
        'id: 1\ndata: {"n":1,"text":"one"}',
        'id: 2\ndata: {"n":2,"text":"two"}',
        "event: end\ndata: {}\n\n",
      ].join("\n\n"),
    );
  });

  it("continues after the last event's id, from the header before the query", async () => {
    const { url, lines } = await served();
    lines.push("one", "two", "three");
    const path = `${url}/notes/a/lines?until=3&lastEventId=1`;
    const byQuery = await (await fetch(path, { headers: { authorization } })).text();
    expect(idsOf(byQuery)).toEqual([2, 3]);
    const byHeader = await (await fetch(path, { headers: { authorization, "last-event-id": "2" } })).text();
    expect(idsOf(byHeader)).toEqual([3]);
  });

  it("loses and repeats nothing over cut connections", async () => {
    const { lines, port, streams } = await served();
    const total = 3000;
    const writing = setInterval(() => {
      for (let i = 0; i < 25 && lines.length < total; i++) lines.push(`line ${lines.length + 1}`);
    }, 5);
    const received: number[] = [];
    let isOver = false;
    for (let connection = 0; !isOver && connection < 100; connection++) {
      // Cut after some bytes, usually within an event, which must then be sent again.
      const text = await cutAfter(port, 4000 + 777 * connection, received.at(-1), total);
      isOver = text.includes("event: end\n");
      received.push(...idsOf(text));
    }
    clearInterval(writing);
    expect(received).toEqual(Array.from({ length: total }, (_, i) => i + 1));
    expect(streams.opened).toBeGreaterThan(5);
    await until(() => streams.ended === streams.opened);
  });

  it("stops the work behind it when the reader goes", async () => {
    const { url, streams } = await served();
    const gone = new AbortController();
    const response = await fetch(`${url}/notes/a/lines`, { headers: { authorization }, signal: gone.signal });
    await until(() => streams.opened === 1);
    gone.abort();
    await until(() => streams.ended === 1);
    await response.text().catch(() => undefined);
  });

  it("ends also what does not listen to that, at its next line", async () => {
    const { url, streams, lines } = await served();
    const writing = setInterval(() => lines.push("line"), 5);
    const gone = new AbortController();
    const response = await fetch(`${url}/notes/deaf/lines`, { headers: { authorization }, signal: gone.signal });
    await until(() => streams.opened === 1);
    gone.abort();
    await until(() => streams.ended === 1);
    clearInterval(writing);
    await response.text().catch(() => undefined);
  });

  it("pings while there is nothing to tell", async () => {
    const { url } = await served();
    const gone = new AbortController();
    const response = await fetch(`${url}/notes/a/lines`, { headers: { authorization }, signal: gone.signal });
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk);
      if (text.includes(": ping\n\n: ping\n\n")) break;
    }
    gone.abort();
    expect(text).toBe("retry: 1000\n\n: ping\n\n: ping\n\n");
  });

  it("refuses with a status, not with a stream", async () => {
    const api = await served();
    expect((await ask(api, "GET", "/notes/missing/lines")).status).toBe(404);
    expect((await ask(api, "GET", "/notes/a/lines", { token: null })).status).toBe(401);
    expect((await ask(api, "GET", "/notes/a/lines?until=x")).status).toBe(422);
    expect((await ask(api, "POST", "/notes/a/lines")).headers.allow).toBe("GET, HEAD");
    expect(await ask(api, "HEAD", "/notes/a/lines")).toMatchObject({ status: 200, text: "" });
  });

  it("ends with the problem when its source breaks, without what caused it", async () => {
    const api = await served();
    api.lines.push("one", "two");
    const { text } = await ask(api, "GET", "/notes/breaks/lines");
    expect(text).toMatch(
      /event: error\ndata: {"message":"The source went away.","code":"engine.failed","request_id":"[^"]+"}\n\n$/,
    );
    const { text: wrong } = await ask(api, "GET", "/notes/wrong/lines");
    expect(wrong).toMatch(/event: error\ndata: {"message":"Server Error","code":"internal.error",/);
    expect(api.faults).toHaveLength(2);
  });
});

const idsOf = (text: string): number[] => [...text.matchAll(/^id: (\d+)\ndata: .*\n\n/gm)].map(([, id]) => Number(id));

/** Reads a stream over a plain socket and destroys it after some bytes, or at the end of the stream. */
async function cutAfter(port: number, bytes: number, lastEventId: number | undefined, total: number): Promise<string> {
  const socket: Socket = connect(port, "127.0.0.1");
  socket.setEncoding("utf8");
  const resume = lastEventId === undefined ? "" : `last-event-id: ${lastEventId}\r\n`;
  socket.write(
    `GET /api/v1/notes/a/lines?until=${total} HTTP/1.0\r\nhost: x\r\nauthorization: ${authorization}\r\n${resume}\r\n`,
  );
  let text = "";
  for await (const chunk of socket) {
    text += chunk;
    if (text.length > bytes) break;
  }
  socket.destroy();
  return text;
}
