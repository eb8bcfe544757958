import { describe, expect, test } from "vitest";
import type { SeenClusterNode } from "../ports/cluster.ts";
import type { NamedResource } from "../ports/records.ts";
import {
  assertIngressChange,
  assertMayLeave,
  assertNodeChange,
  assertNoNode,
  ClusterCreate,
  ClusterNodeUpdate,
  isClusterIngress,
  type NamedClusterNode,
} from "./cluster-node.ts";
import { clusterNodeView } from "./cluster-node-view.ts";
import { ServerSettings } from "./server-settings.ts";

const node = (id: string, change: Partial<SeenClusterNode> = {}): NamedClusterNode => ({
  ...{
    id,
    name: `server ${id}`,
    hostname: `host-${id}`,
    address: "10.0.0.1",
    isManager: true,
    isLeader: false,
    isReachable: true,
  },
  ...{ availability: "active", state: "ready", engineVersion: "26.1.5", cpus: 2, memoryBytes: 1 << 30 },
  ...{ containers: 0, leaving: 0, resources: new Map(), storages: [], labels: {}, load: null },
  ...change,
});
const worker = (id: string, change: Partial<SeenClusterNode> = {}) =>
  node(id, { isManager: false, isReachable: false, ...change });

type ClusterServer = Parameters<typeof assertIngressChange>[1] & { readonly private_key_id: number | null };
const SERVER: ClusterServer = {
  ...{ id: 1, uuid: "s1", name: "head", ip: "192.0.2.1", engine: "swarm", proxy_type: "CADDY" },
  ...{ private_key_id: 7, swarm_node_id: "a" },
  settings: ServerSettings.parse({}),
};
const OTHER: ClusterServer = { ...SERVER, id: 2, uuid: "s2", name: "other", engine: "docker", swarm_node_id: "b" };

describe("a change of a node", () => {
  const DEMOTE: ClusterNodeUpdate = { role: "worker" };
  const three = [node("a"), node("b"), node("c")];
  test.each<[string, readonly NamedClusterNode[], string, ClusterNodeUpdate, RegExp | undefined]>([
    ["may demote one of three managers", three, "b", DEMOTE, undefined],
    ["keeps the manager of Berth", three, "a", DEMOTE, /^Berth manages the cluster through server a/],
    [
      "keeps a majority",
      [node("a"), node("b"), node("c", { isReachable: false })],
      "b",
      DEMOTE,
      /only 1 of 2 managers/,
    ],
    ["may demote one that does not answer", [node("a"), node("b", { isReachable: false })], "b", DEMOTE, undefined],
    ["may drain any node", three, "a", { availability: "drain" }, undefined],
    ["may leave a worker a worker", [node("a"), worker("b")], "b", DEMOTE, undefined],
  ])("%s", (_title, nodes, id, change, problem) => {
    const found = nodes.find((one) => one.id === id);
    if (found === undefined) throw new Error("no such node");
    const act = () => assertNodeChange(nodes, found, change, "a");
    if (problem === undefined) expect(act).not.toThrow();
    else expect(act).toThrow(problem);
  });
});

test("a node with the data of storages leaves only by force", () => {
  const holder = worker("b", { storages: ["a", "b"] });
  const nodes = [node("a"), holder];
  expect(() => assertMayLeave(nodes, holder, {})).toThrow(/^The data of 2 storages is on server b alone/);
  expect(() => assertMayLeave(nodes, holder, { force: true })).not.toThrow();
  expect(() => assertMayLeave([node("a"), worker("b")], worker("b"), {})).not.toThrow();
});

test("a server is in one cluster at most", () => {
  expect(() => assertNoNode({ name: "web", swarm_node_id: "x" })).toThrow(/^Server web is a node of a cluster already/);
  expect(() => assertNoNode({ name: "web", swarm_node_id: null })).not.toThrow();
});

test("a node shows the team's server that it is", () => {
  const servers = [{ ...SERVER, uuid: "s1", name: "web-1", swarm_node_id: "a" }];
  expect(clusterNodeView(node("a"), servers)).toMatchObject({
    role: "manager",
    is_reachable: true,
    server_name: "web-1",
    server_ip: "192.0.2.1",
  });
  expect(clusterNodeView(worker("b"), servers)).toMatchObject({
    role: "worker",
    is_reachable: null,
    server_uuid: null,
    server_ip: null,
  });
});

test("a node that is drained shows what still runs on it, one that is down nothing", () => {
  const resources = new Map([
    ["r2", 1],
    ["r1", 2],
    ["of-others", 1],
  ]);
  const named = new Map<string, NamedResource>([
    ["r1", { kind: "application", name: "shop" }],
    ["r2", { kind: "database", name: "orders" }],
  ]);
  const load = { average: 0.5, memoryUsedBytes: 1024 };
  expect(clusterNodeView(node("a", { resources, load }), [], { named, storageOwners: new Map() })).toMatchObject({
    ...{ load_average: 0.5, memory_used_bytes: 1024 },
    resources: [
      { uuid: "r2", type: "database", name: "orders", containers: 1 },
      { uuid: "r1", type: "application", name: "shop", containers: 2 },
    ],
  });
  expect(clusterNodeView(node("a", { leaving: 2 }), [])).toMatchObject({ containers: 0, containers_leaving: 2 });
  expect(clusterNodeView(node("a", { leaving: 2, state: "down" }), [])).toMatchObject({ containers_leaving: 0 });
});

test("a node shows whose data is on it alone, and its labels without those of Berth", () => {
  const named = new Map<string, NamedResource>([
    ["r1", { kind: "application", name: "shop" }],
    ["r2", { kind: "service", name: "blog" }],
  ]);
  const storageOwners = new Map([["st1", "r1"]]);
  const storages = ["st1", "st1-pr-7", "r2_data", "r2-pr-7_data", "r2_folder-a-pr-1_b", "of-others", "gone_data"];
  const labels = { zone: "a", "berth.ready.x": "yes", "berth.storage.st1": "here" };
  expect(clusterNodeView(node("a", { storages, labels }), [], { named, storageOwners })).toMatchObject({
    storages: 7,
    data_of: [
      { uuid: "r2", type: "service", name: "blog", storages: 3 },
      { uuid: "r1", type: "application", name: "shop", storages: 2 },
    ],
    labels: { zone: "a" },
  });
});

test.each<[object, string | undefined]>([
  [{ zone: "a", "com.example_x-1": "Rack 3/b", old: null }, undefined],
  [{ "berth.storage.x": "here" }, "are Berth's own"],
  [{ "Berth.ready.x": null }, "are Berth's own"],
  [{ "": "a" }, "Must be letters"],
  [{ "a b": "a" }, "Must be letters"],
  [{ "1zone": "a" }, "Must be letters"],
  [{ zone: "a,b" }, "no constraint could name"],
  [{ zone: "a\nb" }, "no constraint could name"],
  [{ zone: " a" }, "no constraint could name"],
  [{ zone: "" }, undefined],
  [{ zone: "a".repeat(256) }, "Too big"],
  [Object.fromEntries(Array.from({ length: 51 }, (_none, at) => [`l${at}`, "a"])), "at most 50 labels"],
])("labels of a node are %j: %s", (labels, problem) => {
  const { error } = ClusterNodeUpdate.safeParse({ labels });
  if (problem === undefined) expect(error).toBeUndefined();
  else expect(JSON.stringify(error?.issues)).toContain(problem);
});

describe("a node that takes requests of the cluster", () => {
  const asked = (server: ClusterServer, isIngress: boolean) => assertIngressChange(server, SERVER, isIngress);

  test("can be any server of it, and the one that manages it always is", () => {
    expect(() => asked(OTHER, true)).not.toThrow();
    expect(() => asked(OTHER, false)).not.toThrow();
    expect(() => asked(SERVER, true)).not.toThrow();
    expect(() => asked(SERVER, false)).toThrow(/^Server head manages the cluster and always takes its requests/);
  });

  test.each([
    ["is not a server of the team", undefined, SERVER, /not a server of the team/],
    ["is Berth's own machine", { ...OTHER, private_key_id: null }, SERVER, /serves Berth's own machine/],
    ["has another proxy", { ...OTHER, proxy_type: "TRAEFIK" }, SERVER, /^Server other has the proxy TRAEFIK/],
    ["has a manager with another proxy", OTHER, { ...SERVER, proxy_type: "NONE" }, /^Server head has the proxy NONE/],
  ])("is refused where it %s", (_, server, head, message) => {
    expect(() => assertIngressChange(server, head, true)).toThrow(message);
  });

  test("is shown, unless it is in no cluster any more", () => {
    const ingress = { ...OTHER, settings: { ...OTHER.settings, is_cluster_ingress: true } };
    const shown = [SERVER, ingress, { ...OTHER, uuid: "s3", swarm_node_id: "c" }];
    const isIngress = (id: string) => clusterNodeView(node(id), shown).is_ingress;
    expect(["a", "b", "c", "d"].map(isIngress)).toEqual([true, true, false, false]);
    expect(isClusterIngress({ ...ingress, swarm_cluster: 1 })).toBe(true);
    expect(isClusterIngress({ ...ingress, swarm_cluster: null })).toBe(false);
    expect(isClusterIngress({ ...ingress, engine: "swarm", swarm_cluster: 1 })).toBe(false);
  });
});

test.each(["10.20.0.0/16", "172.30.0.0/24"])("%s is an address pool", (address_pool) => {
  expect(ClusterCreate.safeParse({ address_pool }).success).toBe(true);
});
test.each(["10.20.0.0", "10.20.0.0/30", "fd00::/48", "-x"])("%s is refused as an address pool", (address_pool) => {
  expect(ClusterCreate.safeParse({ address_pool }).success).toBe(false);
});
