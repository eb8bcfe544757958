import { DomainError } from "@berth/core";
import { until } from "@berth/testing";
import { expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
  world.engine.registry = new Map();
  world.engine.hasReplicas = true;
});

test("a release that cannot be scaled says why until nobody asks for it any more, and reports it once", async () => {
  world.worker();
  const application = await world.application();
  expect((await world.ended(await world.deploy(application))).status).toBe("finished");
  const problem = async () => (await world.stores.applications.find(application.uuid))?.scale_problem;
  const events = () => world.stores.events.list({ type: "resource.scale_failed" });

  world.points.fail("scale", new DomainError("deploy.start_failed", "No such image."), 10_000);
  await world.stores.applications.update(application.id, { settings: { replicas: 3 } });
  await until(async () => (await problem()) === "No such image.", { what: "the reason is shown" });
  const attempts = world.points.count("scale");
  await until(() => world.points.count("scale") > attempts + 1, { what: "it is tried again" });
  expect(await events()).toMatchObject([
    {
      resource_uuid: application.uuid,
      payload: { resource_name: application.name, from: 1, to: 3, error: "No such image." },
    },
  ]);

  await world.stores.applications.update(application.id, { settings: { replicas: 1 } });
  await until(async () => (await problem()) === null, { what: "the problem is over" });
  await world.stores.applications.update(application.id, { settings: { replicas: 2 } });
  await until(async () => (await events()).length === 2, { what: "a failure after that is reported anew" });
});

test("the reason that is shown tells nothing of an internal error", async () => {
  world.worker();
  const application = await world.application();
  await world.ended(await world.deploy(application));
  world.points.fail("scale", new Error("socket /secret/path is gone"), 10_000);
  await world.stores.applications.update(application.id, { settings: { replicas: 3 } });
  const shown = await until(async () => (await world.stores.applications.find(application.uuid))?.scale_problem);
  expect(shown).toBe("An internal error occurred; Berth's own log has the details.");
});
