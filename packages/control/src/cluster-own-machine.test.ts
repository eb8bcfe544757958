import { printingEngine, testCluster, testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type World, world } from "./world.fixture.ts";

let at: World;
let own: string;
beforeAll(async () => {
  at = await world({
    engineFor: ({ uuid }) => ({ ...printingEngine({ replicas: true }), cluster: testCluster(uuid) }),
  });
  own = at.place.server.uuid;
});
afterAll(() => at.db.close());

async function remote(): Promise<string> {
  const { uuid: private_key_uuid } = await testPrivateKey(at.stores);
  const { uuid } = await at.own.servers.create({ name: "remote", ip: `${testUuid()}.example`, private_key_uuid });
  return uuid;
}

test("a cluster with Berth's own machine is changed by its operator alone, since its managers control the machine", async () => {
  const { clusters, clusterNodes } = at.as(at.place.server.team_id, "write");
  const server = await remote();
  const asked = [
    () => clusters.create(own, {}),
    () => clusters.join(server, { manager_uuid: own, role: "manager" }),
    () => clusters.leave(own, {}),
    () => clusters.rotateTokens(own),
    () => clusterNodes.update(own, "n1", { role: "manager" }),
  ];
  for (const ask of asked) await expect(ask()).rejects.toMatchObject({ code: "auth.missing_ability" });
});

test("a request to join Berth's own machine to another server's cluster is refused, also for the operator", async () => {
  const head = await remote();
  await expect(at.own.clusters.join(own, { manager_uuid: head })).rejects.toThrow(/is the machine that Berth runs on/);
});
