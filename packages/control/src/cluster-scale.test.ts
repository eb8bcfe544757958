import { DomainError } from "@berth/core";
import { noLeader } from "@berth/core/server";
import { printingEngine, testApplication, testCluster, testUuid } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type World, world } from "./world.fixture.ts";

const SINCE = new Date("2026-11-28T09:19:50Z");
const AWAY = new DomainError("server.unreachable", "Server web-1 broke off the connection.");

let at: World;
let problem: DomainError | undefined;
beforeAll(async () => {
  const requireLeader = async () => {
    if (problem !== undefined) throw problem;
  };
  const engine = printingEngine({ replicas: true });
  at = await world({ engineFor: ({ uuid }) => ({ ...engine, cluster: { ...testCluster(uuid), requireLeader } }) });
});
beforeEach(() => {
  problem = undefined;
});
afterAll(() => at.db.close());

async function scaled(state: "running" | "stopped", fields: object = { replicas: 3 }) {
  const { id, uuid } = await testApplication(at.stores, at.place);
  await at.stores.resources.setDesiredState(id, state);
  const outcome = await at.own.applications.update(uuid, fields).then(
    () => "changed",
    (error: unknown) => error,
  );
  return { outcome, replicas: (await at.own.applications.get(uuid)).replicas };
}

test("an application that runs is not scaled while its cluster has no leader", async () => {
  problem = noLeader("web-1", { since: SINCE });
  expect(await scaled("running")).toEqual({ outcome: problem, replicas: 1 });
});

test.each<[string, "running" | "stopped", object, DomainError | undefined, number]>([
  ["has a leader", "running", { replicas: 3 }, undefined, 3],
  ["is out of reach and scales it when it is back", "running", { replicas: 3 }, AWAY, 3],
  ["has no leader and does not run it", "stopped", { replicas: 3 }, noLeader("web-1"), 3],
  ["has no leader and gets another setting", "running", { name: "shop" }, noLeader("web-1"), 1],
])("an application is changed where its cluster %s", async (_title, state, fields, thrown, replicas) => {
  problem = thrown;
  expect(await scaled(state, fields)).toEqual({ outcome: "changed", replicas });
});

test.each(["start", "restart", "stop"] as const)("a %s is refused while its cluster has no leader", async (action) => {
  const { id, uuid } = await testApplication(at.stores, at.place);
  if (action === "stop") await at.stores.resources.setDesiredState(id, "running");
  const requested = () => at.own.lifecycle[action]({ kind: "application", uuid });
  problem = noLeader("web-1", { since: SINCE });
  await expect(requested()).rejects.toBe(problem);
  expect((await at.own.deployments.listActive({})).items.filter((one) => one.application_id === String(id))).toEqual(
    [],
  );
  expect((await at.stores.resources.find({ kind: "application", uuid }))?.desired_state).toBe(
    action === "stop" ? "running" : "stopped",
  );
  problem = AWAY;
  await requested();
});

test("an application with data on a node of its cluster keeps one container", async () => {
  const { id: _, ...machine } = at.place.server;
  const cluster = { ...machine, uuid: testUuid(), ip: `${testUuid()}.example`, engine: "swarm" } as const;
  const server = await at.stores.servers.insert(cluster);
  const network = { uuid: testUuid(), server_id: server.id, name: "berth", network: "berth" };
  const destination = await at.stores.destinations.insert(network);
  const { uuid } = await testApplication(at.stores, { ...at.place, server, destination });
  const ref = { kind: "application", uuid } as const;
  await at.own.storages.create(ref, { type: "file", mount_path: "/app/settings", content: "a" });
  await at.own.applications.update(uuid, { replicas: 2 });
  await at.own.applications.update(uuid, { replicas: 1 });
  await at.own.storages.create(ref, { type: "persistent", name: "data", mount_path: "/app/data" });
  const refused = (fields: object, field: string) =>
    expect(at.own.applications.update(uuid, fields)).rejects.toMatchObject({
      fields: { [field]: [expect.stringMatching(/^Must be 1: the data of \/app\/data is on one node/)] },
    });
  await refused({ replicas: 2 }, "replicas");
  await refused({ autoscaling_enabled: true, autoscaling_replicas_max: 3 }, "autoscaling_replicas_max");
  await at.own.applications.update(uuid, { name: "kept" });
});
