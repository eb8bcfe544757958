import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord } from "@berth/core/ports";
import { newDeployment, testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { BuildServer, World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

/** An application of the world's server that is attached to a second one, whose worker has started. */
async function onTwoServers(settings = {}) {
  const away = await world.buildServer();
  const destination = await world.stores.destinations.insert({
    ...{ uuid: testUuid(), server_id: away.server.id, name: "berth", network: "berth" },
  });
  // Asked at each visit, which `settled` counts.
  for (const { engine } of [world, away]) engine.isWatched = false;
  const here = await world.application(settings);
  await world.stores.applicationDestinations.attach(here.id, destination.id);
  const there = { ...here, server_id: away.server.id, destination_id: destination.id };
  world.worker();
  return { away, here, there };
}

/** Requests a deployment to both servers. */
async function deployed(here: ApplicationRecord, there: ApplicationRecord) {
  const first = newDeployment(here, { commit: "HEAD" });
  const outcomes = await world.stores.deployments.enqueue([
    first,
    newDeployment(there, { commit: "HEAD", follows: first.uuid }),
  ]);
  return outcomes.map((one) => {
    if (one.outcome !== "queued") throw new Error("It was not queued.");
    return one.deployment;
  }) as [DeploymentRecord, DeploymentRecord];
}

/** Both, one after the other, with their ends. */
async function ended(here: ApplicationRecord, there: ApplicationRecord) {
  const [first, second] = await deployed(here, there);
  return [await world.ended(first), await world.ended(second)] as const;
}

const running = ({ engine }: Pick<BuildServer, "engine">) =>
  engine.releases().flatMap(({ deploymentUuid, state }) => (state === "running" ? [deploymentUuid] : []));

const statusesOf = async ({ id }: ApplicationRecord) =>
  (await world.stores.applicationDestinations.list(id)).map(({ status }) => status);

/** Waits until the worker has compared both servers with their records again, after what was done before. */
async function settled({ points }: BuildServer) {
  for (const each of [world.points, points]) {
    const before = each.count("list");
    await until(() => each.count("list") > before + 1, { what: "the servers were visited" });
  }
}

describe("an application on two servers", () => {
  test("runs on both, with one status of all, and is replaced on both", async () => {
    const { away, here, there } = await onTwoServers();
    const [first, second] = await ended(here, there);
    expect([first.status, second.status]).toEqual(["finished", "finished"]);
    expect(second.commit).toBe(first.commit);
    expect(first.commit).not.toBe("HEAD");
    await until(async () => (await world.status(here)) === "running:healthy", { what: "it runs on both" });
    expect(await statusesOf(here)).toEqual(["running:healthy", "running:healthy"]);
    expect([running(world), running(away)]).toEqual([[first.uuid], [second.uuid]]);
    expect(await world.proxy.request(here.uuid)).toBe(first.uuid);
    expect(await away.proxy.request(here.uuid)).toBe(second.uuid);
    await settled(away);
    expect([running(world), running(away)]).toEqual([[first.uuid], [second.uuid]]);

    const [third, fourth] = await ended(here, there);
    await until(() => running(world).length === 1 && running(away).length === 1, { what: "the old ones are gone" });
    expect([running(world), running(away)]).toEqual([[third.uuid], [fourth.uuid]]);
    expect(world.warnings).toEqual([]);
  });

  test("keeps what runs on a server whose deployment fails, and says so", async () => {
    const { away, here, there } = await onTwoServers();
    const [, second] = await ended(here, there);
    away.engine.behave = () => ({ exitCode: 1 });
    const [third, fourth] = await ended(here, there);
    expect([third.status, fourth.status]).toEqual(["finished", "failed"]);
    await settled(away);
    expect([running(world), running(away)]).toEqual([[third.uuid], [second.uuid]]);
    expect(await away.proxy.request(here.uuid)).toBe(second.uuid);
    const newest = await world.stores.deployments.newestOn(here.id, [there.server_id]);
    expect(newest).toMatchObject([{ uuid: fourth.uuid, status: "failed", error: expect.any(String) }]);
  });

  test("is not tried on the second server when its release fails on the first", async () => {
    const { away, here, there } = await onTwoServers();
    const [first, second] = await ended(here, there);
    world.engine.behave = () => ({ exitCode: 1 });
    const [third, fourth] = await ended(here, there);
    expect([third.status, fourth.status]).toEqual(["failed", "cancelled-by-user"]);
    expect(fourth.error).toContain("Not started, since the deployment to server");
    await settled(away);
    expect([running(world), running(away)]).toEqual([[first.uuid], [second.uuid]]);
  });

  test("is started again on the server where it ended, and there alone", async () => {
    const { away, here, there } = await onTwoServers();
    const [first, second] = await ended(here, there);
    await until(async () => (await world.status(here)) === "running:healthy", { what: "it runs on both" });
    await away.engine.crash(second.uuid, 1);
    await until(() => running(away).includes(second.uuid), { what: "it runs there again" });
    expect([world.engine.starts.get(first.uuid), away.engine.starts.get(second.uuid)]).toEqual([1, 2]);
    await until(async () => (await world.status(here)) === "running:healthy", { what: "its status is that of both" });
  });

  test("is stopped on the one server where it restarts too often", async () => {
    const { away, here, there } = await onTwoServers({ max_restart_count: 2 });
    const [first, second] = await ended(here, there);
    // Restarts are counted from the first snapshot on.
    await settled(away);
    await away.engine.crash(second.uuid, 1, 3);
    const isGivenUp = async () => (await world.stores.applicationDestinations.list(here.id))[1]?.is_given_up;
    await until(isGivenUp, { what: "it is given up there" });
    await until(() => running(away).length === 0, { what: "it is stopped there" });
    await until(async () => (await world.status(here)) === "degraded:unhealthy", { what: "it is degraded" });
    expect(running(world)).toEqual([first.uuid]);
    expect((await world.system.resources.find(here.id))?.desired_state).toBe("running");
    const events = await world.stores.events.list({});
    expect(events.find(({ type }) => type === "resource.restart_limit_reached")?.payload).toMatchObject({
      server_name: away.server.name,
    });
    await world.stores.resources.setDesiredState(here.id, "running");
    await until(() => running(away).includes(second.uuid), { what: "it was started again" });
  });

  test("is stopped and removed on both", async () => {
    const { away, here, there } = await onTwoServers();
    await ended(here, there);
    await world.stores.resources.setDesiredState(here.id, "stopped");
    await until(() => running(world).length + running(away).length === 0, { what: "it is stopped" });
    await until(async () => (await world.status(here)) === "exited:unhealthy", { what: "it says so" });
    await world.stores.resources.markRemoving(here.id, { delete_volumes: true });
    await until(async () => (await world.system.resources.find(here.id)) === undefined, { what: "it is gone" });
    for (const { engine, proxy } of [world, away]) {
      expect(engine.releases()).toEqual([]);
      expect(proxy.sites.has(here.uuid)).toBe(false);
    }
  });

  test("retires on a server that it is detached from, while the first one answers", async () => {
    const { away, here, there } = await onTwoServers();
    const [first, second] = await ended(here, there);
    expect(await away.proxy.request(here.uuid)).toBe(second.uuid);
    await world.stores.applicationDestinations.detach(here.id, there.destination_id);
    await until(() => running(away).length === 0, { what: "it is gone there" });
    await until(() => !away.proxy.sites.has(here.uuid), { what: "its URL is gone there" });
    expect(running(world)).toEqual([first.uuid]);
    expect(await world.proxy.request(here.uuid)).toBe(first.uuid);
    expect(await world.system.releases.live(liveKeyOf(there))).toBeUndefined();
    expect(await world.status(here)).toBe("running:healthy");
  });

  test("is deployed to one of them alone", async () => {
    const { away, here, there } = await onTwoServers();
    const [first, second] = await ended(here, there);
    const one = newDeployment(there, { commit: "HEAD" });
    const [outcome] = await world.stores.deployments.enqueue([one]);
    if (outcome?.outcome !== "queued") throw new Error("It was not queued.");
    expect((await world.ended(outcome.deployment)).status).toBe("finished");
    await until(() => !running(away).includes(second.uuid), { what: "the old one is gone there" });
    expect(running(away)).toEqual([one.uuid]);
    expect(running(world)).toEqual([first.uuid]);
  });
});
