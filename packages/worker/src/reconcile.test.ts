import { DomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import { newEnv } from "@berth/core/env";
import type { ApplicationRecord } from "@berth/core/ports";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

async function deployed(settings = {}) {
  const application = await world.application(settings);
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  return { application, deployment };
}

const hasStatus = (application: ApplicationRecord, status: string) =>
  until(async () => (await world.status(application)) === status, { what: `the status is ${status}` });

describe("after a reboot", () => {
  test("every release that should run is started again, and routed", async () => {
    const worker = world.worker();
    const { application, deployment } = await deployed();
    await worker.stop({ graceSeconds: 1 });
    await world.engine.stopAll();
    world.worker();
    await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, { what: "it serves" });
    await hasStatus(application, "running:healthy");
    expect(world.engine.starts.get(deployment.uuid)).toBe(2);
    // The release has another port now.
    const upstream = world.engine.releases()[0]?.upstream;
    await until(
      async () => {
        const live = await world.system.releases.live(liveKeyOf(application));
        return live?.upstream?.port === upstream?.port;
      },
      { what: "its address is recorded" },
    );
  });

  test("what was stopped stays stopped", async () => {
    const worker = world.worker();
    const { application, deployment } = await deployed();
    await world.stores.resources.setDesiredState(application.id, "stopped");
    await hasStatus(application, "exited:unhealthy");
    await worker.stop({ graceSeconds: 1 });
    world.worker();
    await until(async () => (await world.proxy.request(application.uuid)) === "503", { what: "the proxy knows it" });
    expect(world.engine.starts.get(deployment.uuid)).toBe(1);
  });

  test("what cannot be started is tried again, ever more rarely", async () => {
    const worker = world.worker();
    const { application, deployment } = await deployed();
    await worker.stop({ graceSeconds: 1 });
    await world.engine.stopAll();
    const before = world.points.count("start");
    world.points.fail("start", new DomainError("deploy.start_failed", "No memory."), 3);
    const startedMs = performance.now();
    world.worker();
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it runs" });
    expect(world.points.count("start") - before).toBe(4);
    // Retries after 0.2, 0.4 and 0.8 seconds.
    expect(performance.now() - startedMs).toBeGreaterThan(1400);
    await hasStatus(application, "running:healthy");
  });
});

test("a start that fails is explained beside the status, without secrets, until it succeeds", async () => {
  const worker = world.worker();
  const { application } = await deployed();
  const secret = "hunter2-hunter2";
  await world.stores.envs.insert(application.id, testUuid(), newEnv({ key: "API_SECRET", value: secret }));
  await worker.stop({ graceSeconds: 1 });
  await world.engine.stopAll();
  world.points.fail("start", new DomainError("deploy.start_failed", `No command --key=${secret}.`), 5);
  world.worker();
  const problem = async () => (await world.stores.applications.find(application.uuid))?.status_problem;
  await until(async () => (await problem()) !== null, { what: "its status says why" });
  expect(await problem()).toMatch(/^No command --key=(?!hunter2).+\.$/);
  await hasStatus(application, "running:healthy");
  expect(await problem()).toBeNull();
});

describe("after a kill of the control plane", () => {
  test("what runs is taken over as it is, and nothing is started twice", async () => {
    const worker = world.worker();
    const { application, deployment } = await deployed();
    worker.kill();
    const syncs = world.points.count("sync");
    world.worker();
    await until(() => world.points.count("sync") > syncs, { what: "the new one has looked" });
    expect(await world.proxy.request(application.uuid)).toBe(deployment.uuid);
    await world.engine.crash(deployment.uuid, 1);
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it is looked after" });
  });
});

describe("stopping an application", () => {
  test("closes its site, then ends its release and keeps what was built", async () => {
    world.worker();
    const { application, deployment } = await deployed();
    const stop = world.points.hold("stop");
    await world.stores.resources.setDesiredState(application.id, "stopped");
    await stop.reached;
    expect(await world.proxy.request(application.uuid)).toBe("503");
    stop.open();
    await hasStatus(application, "exited:unhealthy");
    expect(world.engine.artifacts()).toEqual([deployment.uuid]);

    await world.stores.resources.setDesiredState(application.id, "running");
    await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
      what: "it serves again",
    });
    await hasStatus(application, "running:healthy");
  });
});

describe("the status", () => {
  test("follows what a release answers", async () => {
    let statusCode = 200;
    world.engine.behave = () => ({ statusCode: () => statusCode });
    world.worker();
    const { application } = await deployed({ health_check_enabled: true, health_check_retries: 1 });
    await hasStatus(application, "running:healthy");
    const worker = world.worker();
    statusCode = 503;
    // Five seconds is the shortest allowed interval.
    await until(async () => (await world.status(application)) === "running:unhealthy", {
      what: "it is unhealthy",
      seconds: 20,
    });
    statusCode = 200;
    await until(async () => (await world.status(application)) === "running:healthy", {
      what: "it is healthy again",
      seconds: 20,
    });
    expect(worker.life.isOver).toBe(false);
  });

  test("reports a crash, and the release is brought back", async () => {
    world.worker();
    const { application, deployment } = await deployed();
    const start = world.points.hold("start");
    await world.engine.crash(deployment.uuid, 1, 2);
    await start.reached;
    await hasStatus(application, "degraded:unhealthy");
    expect(await world.proxy.request(application.uuid)).toBe("503");
    const crashed = await world.stores.applications.find(application.uuid);
    expect(crashed?.restart_count).toBe(2);
    expect(crashed?.last_restart_at).toBeInstanceOf(Date);
    start.open();
    await hasStatus(application, "running:healthy");
  });
});

describe("a release that restarts more often than it may", () => {
  test("is stopped, which is told, and runs again when it is started", async () => {
    world.engine.isWatched = false;
    world.worker();
    const { application, deployment } = await deployed({ max_restart_count: 3 });
    await hasStatus(application, "running:healthy");
    // Restarts are counted from the first snapshot on.
    const looks = world.points.count("list");
    await until(() => world.points.count("list") > looks + 1, { what: "it was looked at" });
    await world.engine.crash(deployment.uuid, 1, 4);
    await hasStatus(application, "exited:unhealthy");
    const events = await world.stores.events.list({});
    const told = events.filter(({ type }) => type === "resource.restart_limit_reached");
    expect(told).toMatchObject([
      { resource_uuid: application.uuid, payload: { restart_count: 4, max_restart_count: 3 } },
    ]);
    expect((await world.stores.applications.find(application.uuid))?.desired_state).toBe("stopped");
    const problem = async () => (await world.stores.applications.find(application.uuid))?.status_problem;
    await until(async () => (await problem())?.includes("4 times in a row, more than its limit of 3"), {
      what: "its status says why",
    });
    expect(world.engine.starts.get(deployment.uuid)).toBe(1);
    await world.stores.resources.setDesiredState(application.id, "running");
    await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
      what: "it serves again",
    });
    await hasStatus(application, "running:healthy");
    expect(await problem()).toBeNull();
  });

  test("is brought back for ever where there is no limit", async () => {
    world.worker();
    const { application, deployment } = await deployed({ max_restart_count: 0 });
    await world.engine.crash(deployment.uuid, 1, 400);
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it is brought back" });
    await hasStatus(application, "running:healthy");
  });
});

describe("removing an application", () => {
  test.each([true, false])("takes everything away, its volumes only when asked: %s", async (deletesVolumes) => {
    world.worker();
    const { application } = await deployed();
    await world.stores.resources.markRemoving(application.id, { delete_volumes: deletesVolumes });
    await until(async () => (await world.system.resources.find(application.id)) === undefined, { what: "it is gone" });
    expect(await world.proxy.request(application.uuid)).toBe("404");
    expect(world.engine.releases()).toEqual([]);
    expect(world.engine.artifacts()).toEqual([]);
    expect(world.engine.removedResources).toEqual([
      { uuid: application.uuid, deleteVolumes: deletesVolumes, keepsImages: false, keepsNetworks: false },
    ]);
    expect(world.source.removedResources).toEqual([application.uuid]);
  });

  test("ends its deployments first", async () => {
    world.worker();
    const { application } = await deployed();
    const build = world.points.hold("build");
    const deployment = await world.deploy(application);
    await build.reached;
    await world.stores.resources.markRemoving(application.id, { delete_volumes: false });
    await until(async () => (await world.system.resources.find(application.id)) === undefined, { what: "it is gone" });
    expect(world.engine.starts.get(deployment.uuid)).toBeUndefined();
    expect(world.engine.artifacts()).toEqual([]);
    expect(world.source.checkouts.size).toBe(0);
  });

  test.each(["delete", "remove"])("is finished by the next worker when one is killed at %s", async (point) => {
    const worker = world.worker();
    const { application } = await deployed();
    const held = world.points.hold(point);
    await world.stores.resources.markRemoving(application.id, { delete_volumes: true });
    await held.reached;
    worker.kill();
    world.worker();
    await until(async () => (await world.system.resources.find(application.id)) === undefined, { what: "it is gone" });
    expect(world.engine.releases()).toEqual([]);
    await until(async () => (await world.proxy.request(application.uuid)) === "404", { what: "it has no site" });
  });
});

describe("the proxy", () => {
  test("learns of a change of URLs within a moment", async () => {
    world.worker();
    const { application } = await deployed();
    const claim = { host: "shop.example.com", path: "/", url: "https://shop.example.com" };
    await world.stores.domains.claim(application.id, [claim], { takeFromOwnTeam: false });
    await until(
      () => {
        return world.proxy.sites.get(application.uuid)?.routes[0]?.host === "shop.example.com";
      },
      { what: "the new host is routed" },
    );
    await world.stores.domains.claim(application.id, [], { takeFromOwnTeam: false });
    await until(async () => (await world.proxy.request(application.uuid)) === "404", { what: "it has no site" });
  });

  test("learns of settings that shape the site", async () => {
    world.worker();
    const { application } = await deployed();
    await world.stores.applications.update(application.id, {
      settings: { is_http_basic_auth_enabled: true, http_basic_auth_username: "me" },
      secrets: { http_basic_auth_password: "secret" },
    });
    await until(
      () => {
        return world.proxy.sites.get(application.uuid)?.basicAuth?.password === "secret";
      },
      { what: "the site is protected" },
    );
  });

  test("is told everything again after it failed", async () => {
    world.worker();
    const { application } = await deployed();
    await until(() => world.proxy.sites.size > 0, { what: "it was told" });
    const syncs = world.points.count("sync");
    world.points.fail("put", new DomainError("engine.unreachable", "The proxy is away."));
    await world.stores.resources.setDesiredState(application.id, "stopped");
    await until(() => world.points.count("sync") > syncs, { what: "it is told again" });
    await until(async () => (await world.proxy.request(application.uuid)) === "503", { what: "it is down" });
  });
});

describe("what no record names", () => {
  test("is removed: the leftover of a deployment that ended", async () => {
    const worker = world.worker();
    const { application, deployment } = await deployed();
    await worker.stop({ graceSeconds: 1 });
    await world.system.releases.delete(deployment.id);
    world.worker();
    await until(() => world.engine.releases().length === 0, { what: "it is removed" });
    await hasStatus(application, "exited:unhealthy");
  });

  test("stays where another server's record names it, as two servers with one engine would see it", async () => {
    world.worker();
    const { application, deployment } = await deployed();
    Object.assign(await world.buildServer(), { engine: world.engine });
    const refusals = () => world.warnings.filter((line) => line.includes("is recorded on another server"));
    await until(() => refusals().length > 0, { what: "the removal is refused" });
    expect(world.engine.releases()).toMatchObject([{ deploymentUuid: deployment.uuid }]);
    expect(await world.status(application)).toBe("running:healthy");
  });
});

describe("several workers", () => {
  test("let one of them look after a server, and another when it goes", async () => {
    const first = world.worker();
    const { application, deployment } = await deployed();
    const second = world.worker();
    await first.stop({ graceSeconds: 1 });
    await world.engine.crash(deployment.uuid, 1);
    await hasStatus(application, "running:healthy");
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "the second one looks after it" });
    expect(second.life.isOver).toBe(false);
  });

  test("watch a server once, and take over the watch of one that is killed", async () => {
    const first = world.worker();
    const { deployment } = await deployed();
    const calls: string[] = [];
    const second = world.worker({ watch: { after: (name) => calls.push(name) } });
    await until(() => calls.filter((name) => name.endsWith("acquireAll")).length > 2, {
      what: "the second one asks for the lease",
    });
    expect(world.engine.watchers()).toEqual([first.life]);
    first.kill();
    await world.engine.crash(deployment.uuid, 1);
    await until(() => world.engine.watchers().includes(second.life), { what: "the second one watches" });
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "what it missed is made up for" });
    expect(world.engine.watchers()).toEqual([second.life]);
  });

  test("end the watch of a server whose lease they lost, and begin it again with the lease", async () => {
    const first = world.worker();
    await until(() => world.engine.watchers().length === 1, { what: "the first one watches" });
    first.life.freeze();
    const second = world.worker();
    await until(() => world.engine.watchers().includes(second.life), { what: "the lease runs out" });
    first.life.thaw();
    await until(() => world.engine.watchers().length === 1, { what: "the first one ends its watch" });
    expect(world.engine.watchers()).toEqual([second.life]);
    await second.stop({ graceSeconds: 1 });
    await until(() => world.engine.watchers().includes(first.life), { what: "the first one watches again" });
    expect(world.engine.watchers()).toEqual([first.life]);
  });

  test("keep out of each other's way when they deploy and look after servers at the same time", async () => {
    for (let count = 0; count < 3; count++) world.worker();
    const { application } = await deployed();
    for (let round = 0; round < 5; round++) {
      const deployment = await world.deploy(application);
      expect((await world.ended(deployment)).status).toBe("finished");
      // A reconciling worker may have read the old route, and corrects it itself.
      await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
        what: "it serves",
        seconds: 0.2,
      });
    }
    await until(() => world.engine.artifacts().length === 1, { what: "one release is left" });
    expect(world.engine.violations).toEqual([]);
  });
});

test("many new sites reach the proxy together", async () => {
  world.worker();
  await deployed();
  const [syncs, puts] = [world.points.count("sync"), world.points.count("put")];
  const first = world.points.hold("put");
  const applications = [await world.application()];
  await first.reached;
  for (let n = 0; n < 30; n += 1) applications.push(await world.application());
  first.open();
  await until(() => applications.every(({ uuid }) => world.proxy.sites.has(uuid)), { what: "all are routed" });
  expect(world.points.count("put") - puts).toBeLessThan(30);
  expect(world.points.count("sync")).toBeGreaterThan(syncs);
});

test("a release that somebody removed is started again, and that is told", async () => {
  world.worker();
  const { application, deployment } = await deployed();
  await world.engine.vanish(deployment.uuid);
  await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it serves again" });
  await until(
    async () => {
      const events = await world.stores.events.list({});
      return events.some(
        ({ type, resource_uuid }) => type === "resource.drifted" && resource_uuid === application.uuid,
      );
    },
    { what: "it is told" },
  );
});

describe("while nothing changes", () => {
  test("an engine that reports changes by itself is not asked", async () => {
    const calls = new Map<string, number>();
    const watch = { before: (name: string) => void calls.set(name, (calls.get(name) ?? 0) + 1) };
    const count = (name: string) => calls.get(name) ?? 0;
    world.worker({ watch });
    const { application, deployment } = await deployed();
    await hasStatus(application, "running:healthy");
    await until(
      async () => {
        const asked = count("engine.list");
        const looks = count("resources.changes");
        await until(() => count("resources.changes") > looks + 3, { what: "it is looked after" });
        return count("engine.list") === asked;
      },
      { what: "it is settled" },
    );
    await world.engine.crash(deployment.uuid, 1);
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it is brought back" });
  });

  test("an engine is not asked for the sites of a server without resources", async () => {
    const calls = new Map<string, number>();
    const watch = { before: (name: string) => void calls.set(name, (calls.get(name) ?? 0) + 1) };
    const count = (name: string) => calls.get(name) ?? 0;
    world.worker({ watch });
    await until(() => count("proxy.sync") > 0, { what: "the proxy was told" });
    expect(count("engine.list")).toBe(0);
  });

  test("an engine that tells nothing is asked at each look", async () => {
    world.engine.isWatched = false;
    world.worker();
    const { application, deployment } = await deployed();
    await world.engine.crash(deployment.uuid, 1);
    await until(() => world.engine.starts.get(deployment.uuid) === 2, { what: "it is brought back" });
    await hasStatus(application, "running:healthy");
  });

  test("what an engine told a moment ago is not acted upon when it is otherwise by now", async () => {
    world.worker();
    const { application, deployment } = await deployed();
    await hasStatus(application, "running:healthy");
    const events = async () =>
      (await world.stores.events.list({ resource: application.uuid })).map(({ type, payload }) => ({ type, payload }));
    const before = await events();
    world.engine.forgetTold();
    const asked = world.points.count("list");
    await until(() => world.points.count("list") > asked + 2, { what: "it is looked at" });
    expect(world.engine.starts.get(deployment.uuid)).toBe(1);
    expect(await events()).toEqual(before);
  });
});

test("a server that cannot be looked at is warned of once, until it can be again", async () => {
  world.worker();
  const { application } = await deployed();
  const looks = () => world.warnings.filter((line) => line.startsWith("A server could not be inspected."));
  world.engine.isWatched = false;
  world.points.fail("list", new DomainError("engine.unreachable", "The engine is away."), 5);
  const asked = world.points.count("list");
  await until(() => world.points.count("list") > asked + 6, { what: "it is looked at again" });
  expect(looks()).toHaveLength(1);
  await hasStatus(application, "running:healthy");
});
