import type { SeenClusterNode } from "@berth/core/ports";
import { printingEngine, testApplication, testCluster, testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
let head: { readonly uuid: string };
const nodeIds = { head: testUuid(), other: testUuid(), foreign: testUuid(), shared: testUuid() };
const changes: string[] = [];

beforeAll(async () => {
  const seen = (id: string, isManager: boolean): SeenClusterNode => ({
    ...{ id, hostname: id, address: "10.0.0.1", isManager, isLeader: isManager, isReachable: isManager },
    ...{ availability: "active", state: "ready", engineVersion: null, cpus: 2, memoryBytes: 1 << 30 },
    ...{ containers: 0, leaving: 0, resources: new Map(), storages: [], labels: {}, load: null },
  });
  const cluster = {
    ...testCluster("head"),
    nodes: async () => [
      seen(nodeIds.head, true),
      seen(nodeIds.other, false),
      seen(nodeIds.foreign, false),
      seen(nodeIds.shared, false),
    ],
    change: async (nodeId: string) => void changes.push(nodeId),
  };
  at = await world({ engineFor: () => ({ ...printingEngine({ replicas: true }), cluster }) });
  const managers = [{ nodeId: nodeIds.head, address: "10.0.0.1" }];
  const joined = { managers, managerCount: 1, clusterId: null };
  head = await validated("head", { ...joined, nodeId: nodeIds.head, isManager: true, clusterId: testUuid() });
});
afterAll(() => at.db.close());

type Node = NonNullable<Parameters<World["db"]["system"]["servers"]["finishValidation"]>[2]["swarm"]>;

/** A server that its validation has found to be a node. */
async function validated(name: string, swarm: Node, isPrepared = async (_uuid: string) => {}) {
  const { uuid: private_key_uuid } = await testPrivateKey(at.stores);
  const created = { name, ip: `${testUuid()}.example`, private_key_uuid, proxy_type: "caddy" } as const;
  const { uuid } = await at.own.servers.create({ ...created, instant_validate: true });
  await isPrepared(uuid);
  const { id = 0 } = (await at.stores.servers.find(uuid)) ?? {};
  const claimed = await at.db.system.jobs.claim(["server.validate"], [id], { owner: "w", leaseSeconds: 60 });
  if (claimed === undefined) throw new Error("Its validation was not claimed.");
  const engine = swarm.isManager ? { engine: "swarm" as const } : {};
  const found = { is_reachable: true, is_usable: true, validation_logs: null, swarm, ...engine };
  await at.db.system.servers.finishValidation(claimed.lease, id, found);
  return { uuid };
}

const worker = (nodeId: string): Node => ({
  managers: [{ nodeId: nodeIds.head, address: "10.0.0.1" }],
  ...{ managerCount: 0, clusterId: null, nodeId, isManager: false },
});
const asked = (nodeId: string, is_ingress: boolean) => at.own.clusterNodes.update(head.uuid, nodeId, { is_ingress });
const settingOf = async (uuid: string) => (await at.stores.servers.find(uuid))?.settings.is_cluster_ingress;

test("a node that is a server of the team takes requests when asked, and no more when asked again", async () => {
  const other = await validated("other", worker(nodeIds.other));
  expect(await asked(nodeIds.other, true)).toMatchObject({ server_name: "other", is_ingress: true });
  expect(await settingOf(other.uuid)).toBe(true);
  const events = (await at.stores.events.list({})).filter(({ type }) => type === "server.node_changed");
  expect(events.at(0)?.payload).toMatchObject({ node: nodeIds.other, is_ingress: true });
  expect(await asked(nodeIds.other, false)).toMatchObject({ is_ingress: false });
  expect(await settingOf(other.uuid)).toBe(false);
  // Swarm knows nothing of it.
  expect(changes).toEqual([]);
});

test("messages name a node by its server", async () => {
  const demoted = at.own.clusterNodes.update(head.uuid, nodeIds.head, { role: "worker" });
  await expect(demoted).rejects.toThrow("Berth manages the cluster through head, so it must stay a manager.");
});

test("a node without a server of the team is refused", async () => {
  await expect(asked(nodeIds.foreign, true)).rejects.toThrow(/not a server of the team/);
});

test("a node with resources of its own is refused, since its proxy serves those", async () => {
  const used = await validated("used", worker(nodeIds.foreign), async (server_uuid) => {
    await at.own.applications.createPublic(gitApplication(at, { server_uuid }));
  });
  await expect(asked(nodeIds.foreign, true)).rejects.toThrow(/^Server used has 1 resource/);
  expect(await settingOf(used.uuid)).toBe(false);
});

test("a node that runs an application of another server too is refused", async () => {
  const app = await testApplication(at.stores, at.place, { name: "shared" });
  await validated("second", worker(nodeIds.shared), async (uuid) => {
    const { id: server_id = 0 } = (await at.stores.servers.find(uuid)) ?? {};
    const [destination] = (await at.stores.destinations.list({ server_id })).items;
    await at.stores.applicationDestinations.attach(app.id, destination?.id ?? 0);
  });
  await expect(asked(nodeIds.shared, true)).rejects.toThrow(/^Server second runs shared beside another server\./);
});

test("it needs the ability to write", async () => {
  const reader = at.as(at.place.server.team_id, "read");
  await expect(reader.clusterNodes.update(head.uuid, nodeIds.head, { is_ingress: true })).rejects.toMatchObject({
    message: "Missing required permissions: write",
  });
});
