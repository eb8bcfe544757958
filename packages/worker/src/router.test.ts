import type { Site } from "@berth/core/ports";
import { testDatabase } from "@berth/testing";
import { expect, onTestFinished, test } from "vitest";
import { life } from "./killable.fixture.ts";
import { replicaHealth } from "./replica-health.ts";
import { createRouter } from "./router.ts";
import { openWorld } from "./world.fixture.ts";

const site = (id: string): Site => ({ id, name: id, routes: [{ host: `${id}.example`, path: "/" }], upstreams: [] });

test("sites that were returned before a change are those of their moment", async () => {
  const database = await testDatabase();
  onTestFinished(() => database.close());
  const world = await openWorld(database);
  onTestFinished(() => world.close());
  const router = createRouter(world.system, {
    serverId: world.server.id,
    engine: world.engine.for(life()),
    proxy: world.proxy,
    replicaHealth: replicaHealth(),
  });
  await router.sync(async () => [site("a"), site("b"), site("c")]);
  const all = router.sites();
  await router.unroute("a");
  const two = router.sites();
  await router.unroute("b");
  expect([all, two, router.sites()].map((sites) => [...sites.keys()].join())).toEqual(["a,b,c", "b,c", "c"]);
});
