import type { ClusterNode } from "@berth/core/server";
import { describeDocker, eventually, SERVER_IMAGE, type ServerContainer } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { twoMachines } from "./cluster.fixture.ts";
import type { TestServer } from "./server.fixture.ts";

describeDocker("a cluster that is made of servers", [SERVER_IMAGE, "caddy:2", "busybox:stable"], (docker) => {
  let server: TestServer;
  let machines: readonly [ServerContainer, ServerContainer];
  let uuids: readonly [string, string];

  beforeAll(async () => {
    ({ server, machines, uuids } = await twoMachines(docker));
  });
  afterAll(async () => {
    await server?.dispose();
  });

  const ask = (method: "GET" | "POST" | "PATCH", path: string, body?: object) => server.rest(method, path, body);
  const nodes = async () => (await ask("GET", `/servers/${uuids[0]}/nodes`)).body as readonly ClusterNode[];
  const nodeOf = async (name: string) => (await nodes()).find(({ server_name }) => server_name === name);
  const change = async (name: string, fields: object) =>
    await ask("PATCH", `/servers/${uuids[0]}/nodes/${(await nodeOf(name))?.id}`, fields);

  test("has its first manager, its range of addresses, and refuses what it cannot", async () => {
    const none = await ask("GET", `/servers/${uuids[0]}/nodes`);
    expect(none).toMatchObject({ status: 422, body: { code: "engine.unsupported" } });
    const path = `/servers/${uuids[0]}/cluster`;
    const { status, body } = await ask("POST", path, { address_pool: "10.202.0.0/16" });
    expect(status, JSON.stringify(body)).toBe(201);
    await eventually(async () => {
      expect((await ask("GET", `/servers/${uuids[0]}`)).body).toMatchObject({ engine: "swarm", is_validating: false });
    });
    expect(await nodes()).toMatchObject([{ role: "manager", state: "ready", server_name: "node-1" }]);
    expect(await ask("POST", path, {})).toMatchObject({ status: 400, body: { code: "resource.state" } });
    const { output } = await machines[0].exec(["docker", "info", "--format", "{{.Swarm.Cluster.DefaultAddrPool}}"]);
    expect(output).toContain("10.202.0.0/16");
  });

  test("takes a server in, as a worker that can be drained and made a manager", async () => {
    const joined = await ask("POST", `/servers/${uuids[1]}/cluster/join`, { manager_uuid: uuids[0] });
    expect(joined.status, JSON.stringify(joined.body)).toBe(201);
    expect(JSON.stringify(joined.body)).not.toContain("SWMTKN");
    await eventually(async () =>
      expect(await nodeOf("node-2")).toMatchObject({ role: "worker", state: "ready", availability: "active" }),
    );
    expect(await change("node-2", { availability: "drain" })).toMatchObject({
      status: 200,
      body: { availability: "drain" },
    });
    expect(await change("node-2", { role: "manager", availability: "active" })).toMatchObject({
      status: 200,
      body: { role: "manager", availability: "active" },
    });
    const { id = "" } = (await nodeOf("node-2")) ?? {};
    const onManager = (...argv: string[]) => machines[0].exec(["docker", "node", ...argv, id]);
    await onManager("update", "--label-add", "berth.storage.x=here");
    expect(await change("node-2", { labels: { zone: "a", disk: "ssd", gone: null } })).toMatchObject({
      status: 200,
      body: { labels: { zone: "a", disk: "ssd" }, role: "manager", storages: 1 },
    });
    expect(await change("node-2", { labels: { disk: null } })).toMatchObject({ body: { labels: { zone: "a" } } });
    // Those that Berth sets itself stay, and can neither be seen nor changed.
    const { output } = await onManager("inspect", "--format", "{{.Spec.Labels}}");
    expect(output).toContain("map[berth.storage.x:here zone:a]");
    expect(await change("node-2", { labels: { "berth.storage.x": null } })).toMatchObject({ status: 422 });
    await onManager("update", "--label-rm", "berth.storage.x");
    expect(await change("node-1", { role: "worker" })).toMatchObject({ status: 400, body: { code: "resource.state" } });
    const { body } = await ask("GET", "/events?type=server.node_changed");
    expect(JSON.stringify(body)).toContain(`"role":"manager"`);
  });

  test("replaces the tokens by which machines join, and keeps its nodes", async () => {
    const token = async () => (await machines[0].exec(["docker", "swarm", "join-token", "-q", "worker"])).output.trim();
    const before = await token();
    expect(before).toContain("SWMTKN");
    const rotated = await ask("POST", `/servers/${uuids[0]}/cluster/rotate-tokens`);
    expect(rotated.status, JSON.stringify(rotated.body)).toBe(200);
    expect(JSON.stringify(rotated.body)).not.toContain("SWMTKN");
    expect(await token()).not.toBe(before);
    expect(await nodes()).toHaveLength(2);
    const single = await ask("POST", `/servers/${uuids[1]}/cluster/rotate-tokens`);
    expect(single).toMatchObject({ status: 422, body: { code: "engine.unsupported" } });
  });

  test("lets a server go, which is a single one then, and ends with its last", async () => {
    await eventually(async () => {
      const left = await ask("POST", `/servers/${uuids[1]}/cluster/leave`, {});
      expect(left.status, JSON.stringify(left.body)).toBe(201);
    });
    expect(await nodes()).toHaveLength(1);
    await eventually(async () => {
      expect((await ask("GET", `/servers/${uuids[1]}`)).body).toMatchObject({
        is_validating: false,
        swarm_cluster: null,
        settings: { is_swarm_manager: false, is_swarm_worker: false },
      });
    });
    const last = await ask("POST", `/servers/${uuids[0]}/cluster/leave`, {});
    expect(last.status, JSON.stringify(last.body)).toBe(201);
    await eventually(async () => {
      expect((await ask("GET", `/servers/${uuids[0]}`)).body).toMatchObject({ engine: "docker", is_validating: false });
    });
  });
});
