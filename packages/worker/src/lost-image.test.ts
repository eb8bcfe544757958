import { until } from "@berth/testing";
import { expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
const registry = new Map<string, string>();
openEachWorld((opened) => {
  world = opened;
  registry.clear();
  world.engine.registry = registry;
});

const PUSHED = { docker_registry_image_name: "registry.example.com/team/app" };

/** A running release whose container and image are then removed without Berth. */
async function robbed(settings = {}) {
  world.worker();
  const application = await world.application(settings);
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  world.engine.loseArtifact(deployment.uuid);
  await world.engine.vanish(deployment.uuid);
  return { application, deployment };
}

const drifts = async ({ uuid }: { readonly uuid: string }) =>
  (await world.stores.events.list({}))
    .filter(({ type, resource_uuid }) => type === "resource.drifted" && resource_uuid === uuid)
    .map(({ payload }) => payload);

test("a release whose image a registry has is started again from there", async () => {
  const { application, deployment } = await robbed(PUSHED);
  await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it serves again" });
  expect(world.points.count("pull")).toBe(1);
  await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
    what: "it is routed to",
  });
  expect(await drifts(application)).toEqual([expect.objectContaining({ drift: "release_missing" })]);
});

test("a release whose image nobody has is reported once, with what mends it", async () => {
  const { application, deployment } = await robbed();
  await until(async () => (await drifts(application)).length > 0, { what: "it is told" });
  const warnings = () => world.warnings.filter((warning) => warning.includes("no registry has it")).length;
  await until(() => warnings() === 1, { what: "it is logged" });
  const [drift, ...others] = await drifts(application);
  expect(drift).toMatchObject({
    resource_name: application.name,
    drift: "image_missing",
    remedy: "deploy",
    reason: expect.stringMatching(/^The image berth\/\S+ is no longer on the server, .* Deploy again\.$/),
  });
  expect(others).toEqual([]);
  const problem = async () => (await world.stores.applications.find(application.uuid))?.status_problem;
  await until(async () => (await problem()) === drift?.reason, { what: "its status says why" });
  const next = await world.ended(await world.deploy(application));
  expect(next.status).toBe("finished");
  await until(async () => (await world.proxy.request(application.uuid)) === next.uuid, { what: "it serves" });
  await until(async () => (await problem()) === null, { what: "it has no problem any more" });
  expect(world.engine.starts.get(deployment.uuid)).toBe(1);
  expect(warnings()).toBe(1);
});

test("a release whose registry is away is started as soon as it is back", async () => {
  const before = new Map<string, string>();
  world.worker();
  const application = await world.application(PUSHED);
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  for (const [name, image] of registry) before.set(name, image);
  registry.clear();
  world.engine.loseArtifact(deployment.uuid);
  await world.engine.vanish(deployment.uuid);
  await until(async () => (await drifts(application)).length > 0, { what: "it is told" });
  expect((await drifts(application))[0]).toMatchObject({
    reason: expect.stringContaining("it cannot be pulled again"),
  });
  for (const [name, image] of before) registry.set(name, image);
  await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it serves again" });
});

test("a restart whose image nobody has builds the commit that ran, not the newest, and says so", async () => {
  const { application, deployment } = await robbed();
  const { commit } = await world.ended(deployment);
  world.source.commit = "newer";
  const ended = await world.ended(await world.deploy(application, { restart_only: true }));
  expect(ended).toMatchObject({ status: "finished", commit });
  expect(await world.log(ended)).toContain(
    `The build of commit ${commit} is no longer on the server, so this deployment builds that commit again.`,
  );
  await until(async () => (await world.proxy.request(application.uuid)) === ended.uuid, { what: "it serves" });
});
