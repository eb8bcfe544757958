import { testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

async function dockerServer(proxy_type = "CADDY"): Promise<string> {
  const { server } = api.place;
  const fields = {
    ip: `${testUuid()}.example`,
    uuid: testUuid(),
    name: "web-1",
    engine: "docker",
    proxy_type,
  } as const;
  return (await api.stores.servers.insert({ ...server, ...fields })).uuid;
}

describe("the proxy of a server", () => {
  test("is stopped, started and restarted by jobs, and says so", async () => {
    const uuid = await dockerServer();
    const ask = (method: "GET" | "POST", path: string) => api.ask(method, `/servers/${uuid}${path}`);
    expect((await ask("GET", "/proxy")).json).toEqual({
      proxy_type: "caddy",
      status: "running",
      problem: null,
      is_stopped: false,
      redirect_enabled: true,
      redirect_url: null,
      generate_exact_labels: false,
      configuration: null,
    });
    const stop = await ask("POST", "/proxy/stop");
    expect(stop).toMatchObject({ status: 200, json: { message: "Proxy stop requested." } });
    const job = await api.ask("GET", `/jobs/${stop.json.job_uuid}`);
    expect(job.json).toMatchObject({ type: "server.stop_proxy", subject_uuid: uuid, status: "queued" });
    expect((await ask("GET", "/proxy")).json).toMatchObject({ status: "exited", is_stopped: true });
    expect((await ask("GET", "")).json.proxy).toMatchObject({ type: "CADDY", status: "exited" });
    // A second request returns the same job.
    expect((await ask("POST", "/proxy/stop")).json.job_uuid).toBe(stop.json.job_uuid);
    for (const action of ["start", "restart"]) {
      await ask("POST", "/proxy/stop");
      expect((await ask("POST", `/proxy/${action}`)).json.message).toBe(`Proxy ${action} requested.`);
      expect((await ask("GET", "/proxy")).json).toMatchObject({ is_stopped: false });
    }
  });

  test("reads as it was seen, until it is to be of another type", async () => {
    const uuid = await dockerServer();
    const { id = 0 } = (await api.stores.servers.find(uuid)) ?? {};
    await api.db.system.servers.recordProxyStatus(id, "restarting", "Port 80 is taken.");
    expect((await api.ask("GET", `/servers/${uuid}/proxy`)).json.problem).toBe("Port 80 is taken.");
    expect((await api.ask("GET", `/servers/${uuid}`)).json.proxy).toMatchObject({ status: "restarting" });
    const changed = await api.ask("PATCH", `/servers/${uuid}/proxy`, { body: { proxy_type: "TRAEFIK" } });
    expect(changed.json).toMatchObject({ proxy_type: "traefik", status: "running", problem: null });
  });

  test("is told where unknown names lead, which reads as it was sent", async () => {
    const uuid = await dockerServer();
    const change = (body: object) => api.ask("PATCH", `/servers/${uuid}/proxy`, { body });
    const sent = { redirect_enabled: "1", redirect_url: "https://a.example/here", generate_exact_labels: true };
    const changed = { redirect_enabled: true, redirect_url: sent.redirect_url, generate_exact_labels: true };
    expect((await change(sent)).json).toMatchObject({ ...changed, proxy_type: "caddy" });
    expect((await change({ redirect_enabled: false })).json).toMatchObject({ ...changed, redirect_enabled: false });
    const server = (await api.ask("GET", `/servers/${uuid}`)).json;
    expect([server.proxy.redirect_enabled, server.settings.generate_exact_labels]).toEqual([false, true]);
    expect(server.settings).not.toHaveProperty("redirect_url");
    expect((await change({ redirect_url: "" })).json.redirect_url).toBeNull();
    for (const redirect_url of ["javascript:alert(1)", "https://me:secret@a.example", "https://a.example/ b", "//a"]) {
      expect((await change({ redirect_url })).json.errors).toEqual({ redirect_url: [expect.stringContaining("http")] });
    }
    const own = await api.ask("PATCH", `/servers/${api.where.server_uuid}/proxy`, { body: sent });
    expect([own.status, Object.keys(own.json.errors)]).toEqual([422, ["redirect_url"]]);
    expect(own.json.code).toBe("engine.unsupported");
  });

  test("is reported when another status is seen, once", async () => {
    const uuid = await dockerServer();
    const { id = 0 } = (await api.stores.servers.find(uuid)) ?? {};
    for (const status of ["running", "running", "exited"] as const) {
      await api.db.system.servers.recordProxyStatus(id, status);
    }
    const events = (await api.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === uuid);
    expect(events).toMatchObject([
      { type: "server.proxy_status_changed", payload: { status: "running", previous_status: null } },
      { type: "server.proxy_status_changed", payload: { status: "exited", previous_status: "running" } },
    ]);
  });

  test("is refused to be stopped where there is none, and where it is Berth's own", async () => {
    const none = await api.ask("POST", `/servers/${await dockerServer("NONE")}/proxy/stop`);
    expect([none.status, none.json.code]).toEqual([400, "resource.state"]);
    const own = await api.ask("POST", `/servers/${api.where.server_uuid}/proxy/stop`);
    expect([own.status, own.json.code]).toEqual([422, "engine.unsupported"]);
  });
});
