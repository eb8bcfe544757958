import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const node = (id: string, hostname: string, server_name: string | null) => ({
  ...{ id, hostname, server_name, role: "worker", availability: "active", storages: 0, containers: 0 },
  ...{ containers_leaving: 0, is_ingress: false, server_ip: null, state: "ready", is_leader: false },
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
