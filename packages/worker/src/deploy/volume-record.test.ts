import type { DeploymentRecord } from "@berth/core/ports";
import { newStorage } from "@berth/core/storage";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import type { World } from "../world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
  world.worker();
});

type Application = Awaited<ReturnType<World["application"]>>;

async function storageOf({ id, uuid: resourceUuid }: Application, name: string): Promise<string> {
  const sent = { type: "persistent", name, mount_path: `/app/${name}` } as const;
  const uuid = testUuid();
  await world.stores.storages.insert(id, uuid, newStorage(sent, { resourceUuid, container: null }));
  return uuid;
}

const recorded = async ({ id }: Application) => {
  const { items } = await world.stores.storages.list(id);
  return items.flatMap(({ uuid, has_volume }) => (has_volume ? uuid : []));
};

/** The health check never ends. */
async function begun(application: Application): Promise<DeploymentRecord> {
  world.engine.behave = () => ({ statusCode: () => 503 });
  const deployment = await world.deploy(application);
  await until(async () => (await world.steps(deployment)).health === "running", { what: "it is being checked" });
  return deployment;
}

async function cancelled(deployment: DeploymentRecord): Promise<void> {
  await world.stores.deployments.requestCancel(deployment.uuid);
  expect((await world.ended(deployment)).status).toBe("cancelled-by-user");
}

describe("a cancelled deployment", () => {
  test("leaves no volume that it made, and the next one begins with an empty one", async () => {
    const application = await world.application();
    const uuid = await storageOf(application, "data");
    await cancelled(await begun(application));
    expect(world.engine.removedVolumes).toEqual([`${application.uuid}/${uuid}`]);
    expect(await recorded(application)).toEqual([]);
    world.engine.behave = () => ({});
    expect((await world.ended(await world.deploy(application))).status).toBe("finished");
    expect(await recorded(application)).toEqual([uuid]);
  });

  test("leaves the volumes that were there before it", async () => {
    const application = await world.application();
    const data = await storageOf(application, "data");
    await world.ended(await world.deploy(application));
    const later = await storageOf(application, "later");
    await cancelled(await begun(application));
    expect(world.engine.removedVolumes).toEqual([`${application.uuid}/${later}`]);
    expect(await recorded(application)).toEqual([data]);
  });
});

test("a failed deployment leaves its volumes to its next try", async () => {
  const application = await world.application();
  const data = await storageOf(application, "data");
  world.engine.behave = () => ({ health: () => "unhealthy" });
  expect((await world.ended(await world.deploy(application))).status).toBe("failed");
  expect(world.engine.removedVolumes).toEqual([]);
  expect(await recorded(application)).toEqual([data]);
});
