import { DomainError } from "@berth/core";
import { noLeader } from "@berth/core/server";
import { printingEngine, testApplication, testCluster } from "@berth/testing";
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
