import { type ClientRequest, request } from "node:http";
import { until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HOST, readAll, startUpstream, type TestUpstream } from "./proxy.fixture.ts";
import { createUpstreams, type UpstreamAgent, type Upstreams } from "./upstream.ts";

let server: TestUpstream;
let upstreams: Upstreams;

beforeEach(async () => {
  server = await startUpstream((request, response) => {
    if (request.url === "/last") response.shouldKeepAlive = false;
    response.end("ok");
  });
  upstreams = createUpstreams();
  upstreams.reroute([], [routed()]);
});
afterEach(async () => {
  vi.useRealTimers();
  upstreams.reroute([routed()], []);
  await server.stop();
});

async function exchange(agent: UpstreamAgent, path = "/"): Promise<ClientRequest> {
  const sent = request({ host: HOST, port: server.port, path, agent });
  await new Promise<void>((resolve, reject) => {
    sent.once("response", (answer) => readAll(answer).then(() => resolve(), reject));
    sent.once("error", reject).end();
  });
  if (!sent.closed) await new Promise((resolve) => sent.once("close", resolve));
  return sent;
}

const routed = () => ({ upstreams: [server] });
const connections = () => new Promise((resolve) => server.server.getConnections((_error, count) => resolve(count)));

describe("connections to an upstream", () => {
  it("are used again, but for requests that must not be sent twice only while they are young", async () => {
    const { agent } = upstreams.enter(server);
    await exchange(agent);
    agent.dropStale();
    expect((await exchange(agent)).reusedSocket).toBe(true);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1500 });
    expect((await exchange(agent)).reusedSocket).toBe(true);
    vi.setSystemTime(Date.now() + 1500);
    agent.dropStale();
    expect((await exchange(agent)).reusedSocket).toBe(false);
    expect(await connections()).toBe(1);
  });

  it("are not kept when the upstream does not want it", async () => {
    const { agent } = upstreams.enter(server);
    await exchange(agent, "/last");
    expect((await exchange(agent)).reusedSocket).toBe(false);
  });

  it("are noticed to be closed by the upstream before they are used again", async () => {
    const { agent } = upstreams.enter(server);
    await exchange(agent);
    server.server.closeIdleConnections();
    await until(() => Object.values(agent.freeSockets).flat().length === 0, { what: "it is noticed" });
    expect((await exchange(agent)).reusedSocket).toBe(false);
  });

  it("close when the last exchange on an upstream without a route ends, and stay while it has one", async () => {
    const pool = upstreams.enter(server);
    await exchange(pool.agent);
    upstreams.leave(pool);
    expect([await connections(), upstreams.inFlight()]).toEqual([1, []]);

    const again = upstreams.enter(server);
    expect(again.agent).toBe(pool.agent);
    upstreams.reroute([], [routed()]);
    upstreams.reroute([routed()], []);
    expect(await connections()).toBe(1); // Another site has it.
    upstreams.reroute([routed()], []);
    // Within 2 seconds, since idle connections with a route are closed after 4.
    await until(async () => (await connections()) === 0, { what: "the idle one is closed", seconds: 2 });
    expect(upstreams.inFlight()).toEqual([{ host: HOST, port: server.port, inFlight: 1 }]);
    await exchange(again.agent);
    await until(async () => (await connections()) === 0, { what: "it is not kept", seconds: 2 });
    upstreams.leave(again);
    expect(upstreams.inFlight()).toEqual([]);
  });

  it("are kept again when an upstream gets its route back while it drains", async () => {
    const pool = upstreams.enter(server);
    upstreams.reroute([routed()], []);
    upstreams.reroute([], [routed()]);
    await exchange(pool.agent);
    expect((await exchange(pool.agent)).reusedSocket).toBe(true);
  });
});
