import { DomainError } from "@berth/core";
import { until } from "@berth/testing";
import { expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

const NAMED = { is_consistent_container_name_enabled: true, custom_internal_name: "shop" };

async function deployed(settings = {}) {
  const application = await world.application({ ...NAMED, ...settings });
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  return { application, deployment };
}

const holders = () => [...world.engine.names].map(([uuid, name]) => `${name}: ${uuid}`);

test("the container of each deployment takes the name over from the one before it", async () => {
  world.worker();
  const { application, deployment: first } = await deployed();
  expect(holders()).toEqual([`shop: ${first.uuid}`]);
  const second = await world.deploy(application);
  expect((await world.ended(second)).status).toBe("finished");
  expect(holders()).toEqual([`shop: ${second.uuid}`]);
});

test("a deployment that fails leaves the name where it is", async () => {
  world.worker();
  const { application, deployment: first } = await deployed();
  world.engine.behave = () => ({ exitCode: 1 });
  expect((await world.ended(await world.deploy(application))).status).toBe("failed");
  expect(holders()).toEqual([`shop: ${first.uuid}`]);
});

test.each(["take_name", "name_free"])(
  "a worker that is killed at %s is followed by one that names it",
  async (point) => {
    const worker = world.worker();
    const { application } = await deployed();
    const held = world.points.hold(point);
    const second = await world.deploy(application);
    await held.reached;
    // The reconciler may name it before the deployment has routed to it.
    await until(async () => (await world.proxy.request(application.uuid)) === second.uuid, { what: "it is routed to" });
    worker.kill();
    world.worker();
    expect((await world.ended(second)).status).toBe("finished");
    await until(() => holders().join() === `shop: ${second.uuid}`, { what: "it has the name" });
  },
);

test("a container that somebody renames gets its name back", async () => {
  world.worker();
  const { deployment } = await deployed();
  world.engine.names.set(deployment.uuid, "mine");
  await until(() => holders().join() === `shop: ${deployment.uuid}`, { what: "it has its name" });
});

test("nothing is stopped for a deployment whose name something else has", async () => {
  world.worker();
  world.engine.mapsPorts = true;
  const { application, deployment: first } = await deployed({ ports_mappings: "8080:80" });
  const stops = world.points.count("stop");
  world.engine.foreignNames.add("shop");
  const second = await world.ended(await world.deploy(application));
  expect([second.status, second.error]).toEqual(["failed", "The name is taken."]);
  expect(world.points.count("stop")).toBe(stops);
  expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
});

test("a name that is taken after the start is got as soon as it is free", async () => {
  world.worker();
  world.points.fail("take_name", new DomainError("deploy.start_failed", "The name is taken."), 2);
  const { deployment } = await deployed();
  expect(await world.log(deployment)).toContain("does not have its final name yet");
  await until(() => holders().join() === `shop: ${deployment.uuid}`, { what: "it has its name" });
});
