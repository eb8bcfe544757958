import { createServer } from "node:http";
import { until } from "@berth/testing";
import { expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { ask, HOST, listen, site } from "../proxy.fixture.ts";
import type { ConformanceBed } from "./bed.fixture.ts";

/** Requests are counted while they run, and once they are answered. */
export function countGuarantees(bed: ConformanceBed): void {
  const { upstream, named, slowUpstream, get, lacks } = bed;

  test("an upstream without requests has none in flight", async (context) => {
    if (lacks(context, "requestCounts")) return;
    const { slow, finish, reached } = await slowUpstream();
    await bed.proxy.put(site("a", [slow]));
    expect(await bed.proxy.inFlight(slow)).toBe(0);
    const answer = get("a.test");
    await reached;
    await until(async () => (await bed.proxy.inFlight(slow)) === 1, { what: "it is in flight" });
    finish();
    await answer;
    await until(async () => (await bed.proxy.inFlight(slow)) === 0, { what: "it has ended" });
  });

  test("answered requests of a site are counted over all of its URLs, where that is asked for", async (context) => {
    if (lacks(context, "answerCounts")) return;
    const answering = await upstream((request, response) => {
      response.statusCode = request.url === "/broken" ? 500 : 200;
      response.end("answer");
    });
    const gone = await named("gone");
    await gone.stop();
    const [counted, other] = [{ isCounted: true }, await named("other")];
    const routes = [
      { host: "a.test", path: "/" },
      { host: "b.test", path: "/" },
      { host: "www.a.test", path: "/", redirectToHost: "a.test" },
    ];
    await bed.proxy.sync([
      site("a", [answering], { ...counted, routes }),
      site("other", [other], { routes: [{ host: "a.test", path: "/other" }] }),
      site("down", [], counted),
      site("gone", [gone], counted),
      site("shut", [answering], { ...counted, basicAuth: { username: "me", password: "secret" } }),
    ]);
    const counts = async () => Object.fromEntries((await bed.proxy.answered())?.bySite ?? []);
    const none = { down: 0, gone: 0, shut: 0 };
    await until(async () => (await counts()).a === 0, { what: "it is counted" });
    const own = [
      ["a.test", "/"],
      ["a.test:80", "/x?y"],
      ["A.TEST", "/broken"],
      ["b.test", "/"],
    ] as const;
    for (const [host, path] of own) await get(host, path);
    const others = [
      ["a.test", "/other"],
      ["a.test", "/other/../x"],
      ["www.a.test", "/"],
      ["unknown.test", "/"],
    ] as const;
    for (const [host, path] of others) await get(host, path);
    for (const id of Object.keys(none)) await get(`${id}.test`);
    await ask(bed.httpPort, { host: "b.test", method: "POST", body: "x" });
    // The last request is counted last.
    await until(async () => (await counts()).a === 5, { what: "all are counted" });
    expect(await counts()).toEqual({ ...none, a: 5 });

    const { run } = (await bed.proxy.answered()) ?? {};
    await bed.proxy.put(site("a", [other], { ...counted, routes }));
    await get("a.test");
    await until(async () => (await counts()).a === 6, { what: "a change keeps the count" });
    expect((await bed.proxy.answered())?.run).toBe(run);
    await bed.proxy.put(site("a", [other], { routes }));
    await get("a.test");
    expect(await counts()).toEqual(none);
  });

  test("upgraded connections are not counted, since many of them may end at once", async (context) => {
    if (lacks(context, "answerCounts")) return;
    const server = createServer((_request, response) => response.end("plain"));
    const sockets = new WebSocketServer({ server });
    const echo = { host: HOST, port: await listen(server) };
    bed.cleanUp(() => {
      server.closeAllConnections();
      server.close();
    });
    await bed.proxy.put(site("talk", [echo], { isCounted: true }));
    const opened = Array.from({ length: 3 }, async () => {
      const socket = new WebSocket(`ws://${HOST}:${bed.httpPort}/`, { headers: { Host: "talk.test" } });
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
      return await new Promise((resolve) => {
        socket.once("close", resolve);
        for (const client of sockets.clients) client.terminate();
      });
    });
    await Promise.all(opened);
    await get("talk.test");
    await until(async () => ((await bed.proxy.answered())?.bySite.get("talk") ?? 0) > 0, {
      what: "the request is counted",
    });
    expect((await bed.proxy.answered())?.bySite.get("talk")).toBe(1);
  });
}
