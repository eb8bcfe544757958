import { createServer } from "node:http";
import type { Site } from "@berth/core/ports";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { HOST, listen, site } from "../proxy.fixture.ts";
import type { ConformanceBed } from "./bed.fixture.ts";

/** A change of sites takes effect at once and fails no request. */
export function changeGuarantees(bed: ConformanceBed): void {
  const { named, slowUpstream, get } = bed;

  test("a change fails no request, and what is in flight ends where it began", async () => {
    const [old, young] = [await named("old"), await named("young")];
    const { slow, finish, reached } = await slowUpstream();
    await bed.proxy.put(site("slow", [slow]));
    await bed.proxy.put(site("a", [old]));
    const inFlight = get("slow.test");
    await reached;
    let isOver = false;
    const asking = Array.from({ length: 4 }, async () => {
      const seen: string[] = [];
      while (!isOver) seen.push((await get("a.test")).text);
      return seen;
    });
    for (const next of [young, old, young]) await bed.proxy.put(site("a", [next]));
    await bed.proxy.put(site("slow", [young]));
    expect([(await get("a.test")).text, (await get("slow.test")).text]).toEqual(["young /", "young /"]);
    isOver = true;
    const answers = new Set((await Promise.all(asking)).flat());
    expect([...answers].every((text) => text === "old /" || text === "young /")).toBe(true);
    finish();
    expect((await inFlight).text).toBe("begun,done");
  });

  test("a WebSocket reaches the application and outlives a change", async () => {
    const server = createServer((_request, response) => response.end("plain"));
    const sockets = new WebSocketServer({ server });
    sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`heard ${data}`)));
    const echo = { host: HOST, port: await listen(server) };
    bed.cleanUp(() => {
      for (const socket of sockets.clients) socket.terminate();
      server.closeAllConnections();
      server.close();
    });
    await bed.proxy.put(site("a", [echo]));
    const socket = new WebSocket(`ws://${HOST}:${bed.httpPort}/`, { headers: { Host: "a.test" } });
    bed.cleanUp(() => socket.terminate());
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const said = async (text: string) => {
      const answer = new Promise((resolve) => socket.once("message", (data) => resolve(String(data))));
      socket.send(text);
      return await answer;
    };
    expect(await said("one")).toBe("heard one");
    await bed.proxy.put(site("a", [await named("young")]));
    expect([await said("two"), (await get("a.test")).text]).toEqual(["heard two", "young /"]);
  });

  test("sync leaves the given sites and no others", async () => {
    const [one, two] = [await named("one"), await named("two")];
    await bed.proxy.put(site("a", [one]));
    await bed.proxy.put(site("b", [one]));
    const sites: readonly Site[] = [site("b", [two]), site("c", [two])];
    await bed.proxy.sync(sites);
    const answers = await Promise.all(["a", "b", "c"].map((id) => get(`${id}.test`)));
    expect(answers.map(({ status }) => status)).toEqual([404, 200, 200]);
    expect(answers.slice(1).map(({ text }) => text)).toEqual(["two /", "two /"]);
  });

  test("changes that are made at once all take effect", async () => {
    const upstreams = await Promise.all(["one", "two", "three", "four"].map(named));
    await Promise.all(upstreams.map((each, at) => bed.proxy.put(site(`s${at}`, [each]))));
    const answers = await Promise.all(upstreams.map((_, at) => get(`s${at}.test`)));
    expect(answers.map(({ text }) => text)).toEqual(["one /", "two /", "three /", "four /"]);
  });

  test("routes stay while no control plane is there, and the next one changes them", async () => {
    const [one, two] = [await named("one"), await named("two")];
    await bed.proxy.put(site("a", [one]));
    await bed.reincarnate();
    expect((await get("a.test")).text).toBe("one /");
    await bed.proxy.put(site("a", [two]));
    expect((await get("a.test")).text).toBe("two /");
  });
}
