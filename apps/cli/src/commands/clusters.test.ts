import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const node = (id: string, hostname: string, server_name: string | null) => ({
  ...{ id, hostname, server_name, role: "worker", availability: "active", storages: 0, containers: 0 },
  ...{ cpus: 2, load_average: 0.52, memory_bytes: 4 << 20, memory_used_bytes: 1 << 20, resources: [] },
  ...{ data_of: [], labels: {} },
  ...{ containers_leaving: 0, is_ingress: false, server_ip: null, state: "ready", is_leader: false },
});

/** What is said when a node is drained, or takes requests. */
async function said(words: readonly string[], nodes: readonly object[]) {
  const { stdout, stderr } = await ranWith(
    {
      "servers.list": () => [{ uuid: "head", name: "head", engine: "swarm" }],
      "clusterNodes.list": () => nodes,
      "clusterNodes.update": () => nodes[0],
    },
    ["cluster", ...words],
  );
  return stdout + stderr;
}

test("the last node that takes containers says so when it is drained", async () => {
  const drained = { ...node("n1", "a", "web-1"), availability: "drain" };
  const others = [
    { ...node("n2", "b", "web-2"), state: "down" },
    { ...node("n3", "c", "web-3"), availability: "pause" },
  ];
  const warning = "No node of the cluster takes containers now";
  expect(await said(["drain", "web-1"], [drained, ...others])).toContain(warning);
  expect(await said(["drain", "web-1"], [drained, node("n2", "b", "web-2")])).not.toContain(warning);
});

test("a cluster whose managers tolerate no loss says so, and what to do", async () => {
  const managers = ["n1", "n2", "n3"].map((id) => ({ ...node(id, id, id), role: "manager" }));
  const worker = node("n4", "n4", "n4");
  const warning = "Warning: Its Docker Swarm has 2 managers and tolerates the loss of none.";
  expect(await said(["demote", "n2"], [...managers.slice(0, 2), worker])).toContain(warning);
  expect(await said(["nodes"], [...managers.slice(0, 2), worker])).toContain(warning);
  expect(await said(["promote", "n3"], [...managers, worker])).not.toContain("tolerates");
});

test("DNS is pointed to nodes that answer alone", async () => {
  const ingress = { ...node("n1", "a", "web-1"), is_ingress: true, server_ip: "10.0.0.1" };
  const down = { ...ingress, id: "n2", server_name: "web-2", server_ip: "10.0.0.2", state: "down" };
  const text = await said(["ingress", "web-1"], [ingress, down]);
  expect(text).toContain("Point the names of its sites at: 10.0.0.1\n");
  expect(text).toContain("Warning: Leave out until it answers again: 10.0.0.2\n");
});

test("the list says what each machine has to do, and what runs on it", async () => {
  const resources = [
    { uuid: "a1", type: "application", name: "shop", containers: 2 },
    { uuid: "d1", type: "database", name: "orders", containers: 1 },
  ];
  const nodes = [
    { ...node("n1", "a", "web-1"), containers: 3, resources },
    { ...node("n2", "b", null), load_average: null, memory_used_bytes: null },
  ];
  const text = await said(["nodes"], nodes);
  expect(text).toMatch(/a +web-1 +worker +ready +active +0\.5 of 2 +25 % +3 /);
  expect(text).toMatch(/b +none +worker +ready +active +- +- +0 /);
  expect(text).toContain("On web-1: shop (2), orders (1)\n");
});

test("the list says whose data is on a node alone, and its labels; a drain names them", async () => {
  const data_of = [{ uuid: "d1", type: "database", name: "orders", storages: 1 }];
  const labels = { zone: "a", disk: "ssd" };
  const holder = { ...node("n1", "a", "web-1"), storages: 1, data_of, labels, availability: "drain" };
  const text = await said(["nodes"], [holder]);
  expect(text).toContain("Data on web-1 alone: orders\n");
  expect(text).toContain("Labels of web-1: disk=ssd, zone=a\n");
  expect(await said(["drain", "web-1"], [holder])).toContain("The data of 1 storage (orders) is on it alone");
});

test.each([
  [["zone=a", "disk=fast=yes"], { zone: "a", disk: "fast=yes" }],
  [["zone=b", "--remove", "disk", "--remove", "rack"], { zone: "b", disk: null, rack: null }],
  [["zone"], "zone is not a label. Type NAME=VALUE, such as zone=a"],
  [["=a"], "=a is not a label."],
  [[], "No label to set."],
])("labels of a node are set and removed: %j", async (words, wanted) => {
  const sent: unknown[] = [];
  const { exitCode, stdout, stderr } = await ranWith(
    {
      "servers.list": () => [{ uuid: "head", name: "head", engine: "swarm" }],
      "clusterNodes.list": () => [node("n1", "a", "web-1")],
      "clusterNodes.update": (input) => {
        sent.push((input as { readonly labels: unknown }).labels);
        return { ...node("n1", "a", "web-1"), labels: { zone: "a" } };
      },
    },
    ["cluster", "label", "web-1", ...words],
  );
  if (typeof wanted === "string") expect([exitCode, stderr, sent]).toEqual([2, expect.stringContaining(wanted), []]);
  else expect([exitCode, stdout, sent]).toEqual([0, "Labels of web-1: zone=a\n", [wanted]]);
});

test.each([
  [[{ ...node("n1", "a", "head"), role: "manager" }], [], true],
  [[{ ...node("n1", "a", "head"), role: "manager" }], ["--role", "manager"], false],
  [[{ ...node("n1", "a", "head"), role: "manager" }, node("n2", "b", "web-1")], [], false],
])("the first worker of a cluster takes all applications, which is said: %#", async (nodes, flags, isSaid) => {
  const { exitCode, stderr } = await ranWith(
    {
      "servers.list": () => [
        { uuid: "head", name: "head", engine: "swarm" },
        { uuid: "new", name: "web-9", engine: "docker" },
      ],
      "clusterNodes.list": () => nodes,
      "clusters.join": () => ({ message: "Joined.", job_uuid: "j1" }),
      "jobs.follow": () => [{ status: "finished", log: null }],
    },
    ["cluster", "join", "web-9", ...flags],
  );
  expect([exitCode, stderr.includes("It is the first worker")]).toEqual([0, isSaid]);
});

/** The id of the node that is promoted. */
async function promoted(nodes: readonly object[], wanted: string) {
  const sent: unknown[] = [];
  const { exitCode, stderr } = await ranWith(
    {
      "servers.list": () => [{ uuid: "head", name: "head", engine: "swarm" }],
      "clusterNodes.list": () => nodes,
      "clusterNodes.update": (input) => {
        sent.push((input as { readonly node_id: string }).node_id);
        return { ...node("n", "n", null), role: "manager" };
      },
    },
    ["cluster", "promote", wanted],
  );
  return { exitCode, stderr, sent };
}

test.each([
  ["its server's name", [node("n1", "a", "web-1"), node("n2", "b", "web-2")], "web-2", "n2"],
  ["its hostname", [node("n1", "a", "web-1"), node("n2", "b", null)], "b", "n2"],
  ["its id", [node("n1", "a", "web-1"), node("n2", "b", null)], "n2", "n2"],
  [
    "a server's name that another machine claims",
    [node("n1", "web-2", "web-1"), node("n2", "b", "web-2")],
    "web-2",
    "n2",
  ],
])("a node is named by %s", async (_what, nodes, wanted, id) => {
  expect(await promoted(nodes, wanted)).toMatchObject({ exitCode: 0, sent: [id] });
});

test("a hostname that two machines have names neither", async () => {
  const { exitCode, stderr, sent } = await promoted([node("n1", "web", null), node("n2", "web", "shop")], "web");
  expect([exitCode, stderr, sent]).toEqual([2, expect.stringContaining("2 nodes are called web."), []]);
});
