import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord } from "@berth/core/ports";
import { until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
  world.engine.keepsBuilds = true;
});

/** Deployed; except for the first deployment, waits until the replaced release was retired. */
async function deployed(application: ApplicationRecord, fields = {}, isFirst = false): Promise<DeploymentRecord> {
  const deployment = await world.deploy(application, fields);
  const ended = await world.ended(deployment);
  expect(ended.error).toBeNull();
  if (isFirst) return ended;
  await until(async () => (await world.steps(deployment)).retire === "done", { what: "it is retired" });
  const records = () => world.system.releases.listByResources([application.id]);
  // The record changes after the step, so that a worker that stops in between repeats it.
  await until(async () => (await records()).every(({ role }) => role !== "retiring"), { what: "its record says so" });
  return ended;
}

const rollbackTo = ({ uuid, commit }: DeploymentRecord) => ({ commit, rollback: true, rollback_to: uuid });
const builds = async (application: ApplicationRecord) =>
  (await world.stores.releases.builds(liveKeyOf(application))).map(
    ({ built_by, is_current }) => `${built_by}${is_current ? " runs" : ""}`,
  );

describe("an earlier build", () => {
  test("stays for as many deployments as its application says, and runs no more", async () => {
    world.worker();
    const application = await world.application({ docker_images_to_keep: 2 });
    const all: DeploymentRecord[] = [];
    for (let at = 0; at < 4; at++) all.push(await deployed(application, {}, at === 0));
    const [one, two, three, four] = all.map(({ uuid }) => uuid);
    await until(async () => (await builds(application)).length === 3, { what: "the oldest is gone" });
    expect(world.engine.artifacts()).not.toContain(one);
    expect(await builds(application)).toEqual([`${four} runs`, three, two]);
    expect([...world.engine.artifacts()].sort()).toEqual([two, three, four].sort());
    const running = world.engine.releases().filter(({ state }) => state === "running");
    expect(running.map(({ deploymentUuid }) => deploymentUuid)).toEqual([four]);
  });

  test("is run again by a rollback without a build, and stays the same one whatever comes after", async () => {
    world.worker();
    const application = await world.application({ docker_images_to_keep: 1 });
    const first = await deployed(application, {}, true);
    const second = await deployed(application);
    const checkouts = world.source.credentials.length;
    const back = await deployed(application, rollbackTo(first));
    expect(back).toMatchObject({ status: "finished", rollback: true, commit: first.commit });
    expect(world.source.credentials).toHaveLength(checkouts);
    expect(await world.log(back)).toContain(`Rolls back to what deployment ${first.uuid} built.`);
    expect(await world.proxy.request(application.uuid)).toBe(back.uuid);
    const { artifact } = (await world.system.releases.live(liveKeyOf(application))) ?? {};
    expect(artifact).toMatchObject({ folder: expect.stringContaining(first.uuid) });
    const forth = await deployed(application, rollbackTo(second));
    expect(await builds(application)).toEqual([`${second.uuid} runs`, first.uuid]);
    const again = await deployed(application, rollbackTo(first));
    expect(await world.proxy.request(application.uuid)).toBe(again.uuid);
    expect(world.engine.artifacts()).not.toContain(forth.uuid);
    expect(world.warnings).toEqual([]);
  });

  test("is not counted while a rollback runs it, and is the newest one afterwards", async () => {
    world.worker();
    const application = await world.application({ docker_images_to_keep: 2 });
    const all: DeploymentRecord[] = [];
    for (let at = 0; at < 3; at++) all.push(await deployed(application, {}, at === 0));
    const [first, second, third] = all as [DeploymentRecord, DeploymentRecord, DeploymentRecord];
    await deployed(application, rollbackTo(second));
    expect(await builds(application)).toEqual([`${second.uuid} runs`, third.uuid, first.uuid]);
    await deployed(application, rollbackTo(first));
    expect(await builds(application)).toEqual([`${first.uuid} runs`, third.uuid, second.uuid]);
    const fourth = await deployed(application);
    await until(async () => (await builds(application)).length === 3, { what: "the one that ran longest ago is gone" });
    expect(await builds(application)).toEqual([`${fourth.uuid} runs`, second.uuid, first.uuid]);
    expect([...world.engine.artifacts()].sort()).toEqual([first, second, fourth].map(({ uuid }) => uuid).sort());
  });

  test("stays while a rollback to it waits", async () => {
    const worker = world.worker();
    const application = await world.application({ docker_images_to_keep: 1 });
    const first = await deployed(application, {}, true);
    await deployed(application);
    await worker.stop({ graceSeconds: 1 });
    const third = await world.deploy(application);
    const back = await world.deploy(application, rollbackTo(first));
    world.worker();
    expect((await world.ended(third)).status).toBe("finished");
    expect((await world.ended(back)).error).toBeNull();
    expect(await world.proxy.request(application.uuid)).toBe(back.uuid);
  });

  test("that is gone fails the rollback with a reason, and what runs continues", async () => {
    world.worker();
    const application = await world.application({ docker_images_to_keep: 0 });
    const first = await deployed(application, {}, true);
    const second = await deployed(application);
    expect(await builds(application)).toEqual([`${second.uuid} runs`]);
    const back = await world.ended(await world.deploy(application, rollbackTo(first)));
    expect(back).toMatchObject({ status: "failed", error: expect.stringContaining("is no longer kept") });
    expect(await world.proxy.request(application.uuid)).toBe(second.uuid);
  });

  test("goes with its application", async () => {
    world.worker();
    const application = await world.application();
    await deployed(application, {}, true);
    await deployed(application);
    await world.stores.resources.markRemoving(application.id, { delete_volumes: true });
    await until(() => world.engine.artifacts().length === 0 && world.engine.releases().length === 0, {
      what: "nothing is left",
    });
  });
});
