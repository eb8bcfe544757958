import { DomainError } from "@berth/core";
import { liveKeyOf, type ReleaseContainer, type ReleaseState } from "@berth/core/deploy";
import type { ApplicationRecord, DeploymentRecord } from "@berth/core/ports";
import { basicCredentials } from "@berth/core/source";
import { newStorage } from "@berth/core/storage";
import { testDatabaseResource, testPlace, testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import { openWorld, type World } from "../world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

const DONE = { checkout: "done", build: "done", start: "done", health: "done", switch: "done" };

/** A finished deployment with traffic. */
async function deployed(settings = {}) {
  const application = await world.application(settings);
  const first = await world.deploy(application);
  expect((await world.ended(first)).status).toBe("finished");
  return { application, first };
}

/** Makes the engine report containers of a release; `undefined`: it has no more than one. */
function seenAsStack(containersOf: (state: ReleaseState) => readonly ReleaseContainer[] | undefined): void {
  const engineFor = world.engine.for;
  world.engine.for = (owner) => {
    const engine = engineFor(owner);
    const inspect: typeof engine.inspect = async (ref) => {
      const state = await engine.inspect(ref);
      const containers = state && containersOf(state);
      return state && containers ? { ...state, containers } : state;
    };
    return { ...engine, inspect };
  };
}

describe("a deployment", () => {
  test("runs every step, routes to the release and says so in its log", async () => {
    world.worker();
    const { application, first } = await deployed();
    expect(await world.steps(first)).toEqual({ ...DONE, retire: "skipped" });
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
    expect(await world.status(application)).toBe("running:healthy");
    expect((await world.find(first)).commit).toBe(world.source.commit);
    expect((await world.find(first)).commit_message).toBe("Say hello");
    expect(world.source.checkouts.size).toBe(0);
    const log = await world.log(first);
    for (const step of Object.keys(DONE))
      expect(log).toMatch(new RegExp(`> ${step}\\n[^]*${step} done in \\d+\\.\\d s`));
    expect(log).toContain(`Deployment finished: https://${application.uuid}.example.com`);
    const where = "Runs on server localhost, as a process of Berth's own machine, without a container.";
    expect(log).toContain(where);
    const second = await world.deploy(application);
    expect((await world.ended(second)).status).toBe("finished");
    expect(await world.log(second)).not.toContain(where);
  });

  test("replaces the release before it, which is drained and removed afterwards", async () => {
    world.worker({ settings: { drainSecondsMax: 60 } });
    const { application, first } = await deployed();
    const old = world.engine.releases()[0]?.upstream;
    world.proxy.busy.set(old?.port ?? 0, 3);
    const second = await world.deploy(application);
    expect((await world.ended(second)).status).toBe("finished");
    expect(await world.proxy.request(application.uuid)).toBe(second.uuid);
    // Three requests are in flight, so the release must still exist.
    expect((await world.system.releases.find(first.id))?.role).toBe("retiring");
    expect(world.engine.releases().map(({ deploymentUuid }) => deploymentUuid)).toContain(first.uuid);
    world.proxy.busy.clear();
    await until(() => !world.engine.artifacts().includes(first.uuid), { what: "the old release is gone" });
    await until(async () => (await world.steps(second)).retire === "done", { what: "the step retire is done" });
    await until(async () => (await world.system.releases.find(first.id)) === undefined, { what: "its record is gone" });
    expect(await world.log(second)).toMatch(/> retire\nretire done in/);
  });

  test("drains every container of the release before it that takes requests", async () => {
    let pair: string | undefined;
    seenAsStack(({ deploymentUuid, restartCount, exitCode, startedAt }) => {
      const one = { state: "running", restartCount, exitCode, startedAt, isExcluded: false } as const;
      return deploymentUuid === pair
        ? [7777, 7778].map((port) => ({ ...one, name: "web", address: "127.0.0.1", port }))
        : undefined;
    });
    world.worker({ settings: { drainSecondsMax: 60 } });
    const application = await world.application();
    const first = await world.ended(await world.deploy(application));
    pair = first.uuid;
    world.proxy.busy.set(7778, 1);
    const second = await world.ended(await world.deploy(application));
    const before = world.points.count("inFlight");
    await until(() => world.points.count("inFlight") > before + 6, { what: "it was asked again" });
    expect(world.engine.releases().map(({ deploymentUuid }) => deploymentUuid)).toEqual([first.uuid, second.uuid]);
    world.proxy.busy.delete(7778);
    await until(() => world.engine.releases().length === 1, { what: "it is removed" });
  });

  test("ends requests that last longer than the drain", async () => {
    world.worker({ settings: { drainSecondsMax: 0.3 } });
    const { application, first } = await deployed();
    world.proxy.busy.set(world.engine.releases()[0]?.upstream?.port ?? 0, 2);
    const second = await world.deploy(application);
    await until(() => !world.engine.artifacts().includes(first.uuid), { what: "the old release is gone" });
    await until(async () => (await world.log(second)).includes("Ends 2 requests"), { what: "its log says so" });
  });

  test("fetches with the credentials of the moment and shows them to nobody", async () => {
    let asked = 0;
    const credentialsFor = async ({ settings }: ApplicationRecord) =>
      basicCredentials([settings.git_repository], { username: "me", password: `token-${++asked}` });
    world.worker({ credentialsFor });
    const { application, first } = await deployed();
    const second = await world.deploy(application, { force_rebuild: true });
    expect((await world.ended(second)).status).toBe("finished");
    expect([asked, world.source.credentials.length]).toEqual([2, 2]);
    expect(await world.log(first)).toContain("Logs in with [REDACTED]");
    expect(await world.log(second)).toContain("Logs in with [REDACTED]");
  });

  test("fails with the reason when the credentials cannot be had", async () => {
    const credentialsFor = async () => {
      throw new DomainError("source.unauthorized", "The app is not installed any more. Install it again.");
    };
    world.worker({ credentialsFor });
    const deployment = await world.deploy(await world.application());
    const { status, error, error_code } = await world.ended(deployment);
    expect([status, error, error_code]).toEqual([
      "failed",
      expect.stringContaining("Install it again."),
      "source.unauthorized",
    ]);
  });

  test("gives the release its variables, its commit and its storages", async () => {
    world.worker();
    const application = await world.application();
    const env = { is_preview: false, is_literal: false, is_multiline: false, is_shown_once: false, is_required: false };
    await world.stores.envs.insert(application.id, "e1234567890123456789abcd", {
      ...env,
      key: "GREETING",
      value: "Zk3vQ9 morning",
      is_runtime: true,
      is_buildtime: true,
      comment: null,
      order: null,
    });
    const place = { resourceUuid: application.uuid, container: null };
    for (const sent of [
      { type: "persistent", name: "data", mount_path: "/app/data" },
      { type: "file", mount_path: "/app/app.conf", content: "key=geheim" },
    ] as const) {
      await world.stores.storages.insert(application.id, testUuid(), newStorage(sent, place));
    }
    const deployment = await world.deploy(application);
    await world.ended(deployment);
    expect(world.engine.specs.get(deployment.uuid)?.storages).toMatchObject([
      { type: "file", mountPath: "/app/app.conf", content: "key=geheim" },
      { type: "volume", name: "data", mountPath: "/app/data" },
    ]);
    expect(world.engine.specs.get(deployment.uuid)?.env).toMatchObject({
      GREETING: "Zk3vQ9 morning",
      SOURCE_COMMIT: world.source.commit,
      BERTH_URL: `https://${application.uuid}.example.com`,
    });
    // The build prints the secret.
    expect(await world.log(deployment)).toMatch(/building with .*\[REDACTED\]/);
    expect(await world.log(deployment)).not.toContain("Zk3vQ9 morning");
  });
});

describe("a deployment that fails", () => {
  async function failing(prepare: () => void): Promise<{ application: string; deployment: DeploymentRecord }> {
    world.worker();
    const { application, first } = await deployed();
    prepare();
    const deployment = await world.ended(await world.deploy(application));
    expect(deployment.status).toBe("failed");
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
    expect(world.engine.artifacts()).toEqual([first.uuid]);
    expect(world.engine.releases().map(({ deploymentUuid }) => deploymentUuid)).toEqual([first.uuid]);
    expect(await world.system.releases.find(deployment.id)).toBeUndefined();
    expect(world.source.checkouts.size).toBe(0);
    expect(await world.log(deployment)).toContain("Deployment failed.");
    await until(async () => (await world.status(application)) === "running:healthy", {
      what: "the old release is healthy",
    });
    return { application: application.uuid, deployment };
  }
  const broken = new DomainError("deploy.build_failed", "The build exited with code 2.");

  test("in its checkout leaves the release before it serving", async () => {
    const { deployment } = await failing(() =>
      world.points.fail("checkout", new DomainError("source.not_found", "There is no branch main.")),
    );
    expect(deployment.error).toBe("There is no branch main.");
    expect(await world.steps(deployment)).toEqual({
      checkout: "failed",
      build: "skipped",
      start: "skipped",
      health: "skipped",
      switch: "skipped",
      retire: "skipped",
    });
  });

  test("in its build undoes the checkout", async () => {
    const { deployment } = await failing(() => world.points.fail("build", broken));
    expect(deployment.error).toBe("The build exited with code 2.");
    expect(await world.steps(deployment)).toMatchObject({ checkout: "undone", build: "failed", start: "skipped" });
  });

  test("in its start undoes the build", async () => {
    const error = new DomainError("deploy.start_failed", "It could not be started.");
    const { deployment } = await failing(() => world.points.fail("start", error));
    expect(await world.steps(deployment)).toMatchObject({ build: "undone", start: "failed", health: "skipped" });
  });

  test("because it crashes says with which code, and shows its last words", async () => {
    const { deployment } = await failing(() => {
      world.engine.behave = () => ({ exitCode: 3, log: ["Cannot find module 'express'"] });
    });
    expect(deployment.error).toBe("The new release crashed: it exited with code 3.");
    expect(await world.log(deployment)).toContain("Cannot find module 'express'");
    expect(await world.steps(deployment)).toMatchObject({ start: "undone", health: "failed", switch: "skipped" });
  });

  const CHECK = {
    health_check_enabled: true,
    health_check_interval: 1,
    health_check_retries: 1,
    health_check_start_period: 1,
  };

  test("because it is never healthy says what it answered", async () => {
    world.worker();
    world.engine.behave = () => ({ statusCode: () => 503 });
    const application = await world.application(CHECK);
    const deployment = await world.ended(await world.deploy(application));
    expect(deployment.error).toMatch(
      /^The new release is not healthy after \d+ seconds?: GET \/ answered 503 instead of 200\.$/,
    );
    expect(world.engine.releases()).toEqual([]);
    await until(async () => (await world.status(application)) === "exited:unhealthy", { what: "it is down" });
  });

  test("because it listens on another port says on which", async () => {
    world.worker();
    world.engine.behave = () => ({ isOnWrongPort: true });
    const deployment = await world.ended(await world.deploy(await world.application(CHECK)));
    expect(deployment.error).toMatch(
      /it listens on port \d+ instead of the port in PORT \(1\)\. Set ports_exposes to \d+/,
    );
  });

  test("because it listens on another port alone does not wait for the built-in check's minute", async () => {
    world.worker();
    world.engine.behave = () => ({ isOnWrongPort: true });
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment.error).toMatch(/^The new release is not healthy after [12]?\d seconds: it listens on port/);
  });

  test("because it listens on its container's loopback address alone says so after seconds, and what helps", async () => {
    world.worker();
    world.engine.behave = () => ({ isOnLoopback: true });
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment.error).toMatch(
      /^The new release is not healthy after [12]?\d seconds: it listens on 127\.0\.0\.1 only, which .* reaches\. Let it listen on 0\.0\.0\.0 \(the address in HOST\)\.$/,
    );
  });

  test("for a reason of ours says no more than that, and tells the operator", async () => {
    const { deployment } = await failing(() => world.points.fail("build", new TypeError("x is not a function")));
    expect(deployment.error).toBe(
      "The step build failed because of an internal error; Berth's own log has the details.",
    );
    expect(deployment.error_code).toBe("internal.error");
    expect(world.warnings.join()).toContain("A step of a deployment failed unexpectedly.");
  });

  test("undoes the last step first", async () => {
    const undone: string[] = [];
    const undoing = new Set(["engine.remove", "releases.delete", "source.removeCheckout"]);
    world.worker({ watch: { before: (name) => undoing.has(name) && undone.push(name) } });
    world.engine.behave = () => ({ exitCode: 1 });
    await world.ended(await world.deploy(await world.application()));
    expect(undone).toEqual(["engine.remove", "releases.delete", "engine.remove", "source.removeCheckout"]);
  });

  test("keeps trying to undo, and what cannot be undone now is removed later", async () => {
    const unreachable = new DomainError("engine.unreachable", "The engine does not answer.");
    world.worker({ settings: { undoAttemptsMax: 1 } });
    world.engine.behave = () => ({ exitCode: 1 });
    world.points.fail("remove", unreachable, 2);
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment.status).toBe("failed");
    expect(await world.log(deployment)).toContain("Cleanup of the step start is pending; Berth will retry.");
    await until(() => world.engine.releases().length === 0, { what: "the candidate is removed" });
    await until(async () => (await world.system.releases.find(deployment.id)) === undefined, {
      what: "its record too",
    });
  });

  test("ends though the engine hangs when it is to undo, and what is left is removed later", async () => {
    world.worker({ settings: { undoSecondsMax: 0.2 } });
    world.engine.behave = () => ({ exitCode: 1 });
    const held = world.points.hold("remove");
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment.status).toBe("failed");
    expect(await world.log(deployment)).toContain("Cleanup of the step start is pending; Berth will retry.");
    held.open();
    await until(() => world.engine.releases().length === 0, { what: "the candidate is removed" });
    await until(async () => (await world.system.releases.find(deployment.id)) === undefined, {
      what: "its record too",
    });
  });

  test("when it takes longer than its server allows", async () => {
    const hurried = await openWorld(world.database, { dynamic_timeout: 1 });
    try {
      hurried.worker();
      hurried.points.hold("build");
      const deployment = await hurried.ended(await hurried.deploy(await hurried.application()));
      expect(deployment.status).toBe("failed");
      expect(deployment.error).toBe("The deployment took longer than the 1 seconds that its server allows.");
    } finally {
      await hurried.close();
    }
  });
});

describe("a cancel", () => {
  const cancel = (deployment: DeploymentRecord) => world.stores.deployments.requestCancel(deployment.uuid);

  test.each(["checkout", "build", "start"])("during %s ends the work, and only then says so", async (point) => {
    world.worker();
    const { application, first } = await deployed();
    const held = world.points.hold(point);
    const deployment = await world.deploy(application);
    await held.reached;
    await cancel(deployment);
    expect((await world.ended(deployment)).status).toBe("cancelled-by-user");
    expect(world.engine.artifacts()).toEqual([first.uuid]);
    expect(world.source.checkouts.size).toBe(0);
    expect(await world.system.releases.find(deployment.id)).toBeUndefined();
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
    expect((await world.steps(deployment))[point]).toBe("cancelled");
  });

  test("during the health check removes the candidate", async () => {
    world.worker();
    const { application, first } = await deployed();
    world.engine.behave = () => ({ statusCode: () => 503 });
    const deployment = await world.deploy(application);
    await until(async () => (await world.steps(deployment)).health === "running", { what: "it is being checked" });
    await cancel(deployment);
    expect((await world.ended(deployment)).status).toBe("cancelled-by-user");
    expect(world.engine.releases().map(({ deploymentUuid }) => deploymentUuid)).toEqual([first.uuid]);
    expect(await world.steps(deployment)).toMatchObject({ start: "undone", health: "cancelled", switch: "skipped" });
  });

  test("before the promotion ends the pre-deployment command", async () => {
    world.worker();
    const { application, first } = await deployed({ pre_deployment_command: "migrate" });
    const held = world.points.hold("exec");
    const deployment = await world.deploy(application);
    await held.reached;
    await cancel(deployment);
    expect((await world.ended(deployment)).status).toBe("cancelled-by-user");
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
  });

  test("after the promotion comes too late", async () => {
    let renewals = 0;
    const watch = { after: (name: string) => void (name === "deployments.renew" && renewals++) };
    // A step that a cancel ended would not be waited for.
    world.worker({ watch, settings: { abortSecondsMax: 0 } });
    const application = await world.application();
    const held = world.points.hold("put");
    const deployment = await world.deploy(application);
    await held.reached;
    await until(async () => (await world.system.releases.find(deployment.id))?.role === "live", {
      what: "it is promoted",
    });
    await cancel(deployment);
    const before = renewals;
    await until(() => renewals > before + 1, { what: "the worker has heard of it" });
    held.open();
    expect((await world.ended(deployment)).status).toBe("finished");
    expect(await world.proxy.request(application.uuid)).toBe(deployment.uuid);
  });

  test("of a queued deployment keeps it from ever running", async () => {
    const application = await world.application();
    const deployment = await world.deploy(application);
    await cancel(deployment);
    world.worker();
    await world.ended(await world.deploy(application));
    expect((await world.find(deployment)).status).toBe("cancelled-by-user");
    expect(world.points.count("checkout")).toBe(1);
  });
});

describe("a restart without a build", () => {
  test("runs what was built before, and the build outlives the release that made it", async () => {
    world.worker();
    const { application, first } = await deployed();
    const second = await world.deploy(application, { restart_only: true });
    expect((await world.ended(second)).status).toBe("finished");
    expect(await world.proxy.request(application.uuid)).toBe(second.uuid);
    expect(world.points.count("build")).toBe(1);
    expect((await world.find(second)).commit).toBe(world.source.commit);
    await until(async () => (await world.steps(second)).retire === "done", { what: "the first one is retired" });
    expect(world.engine.artifacts()).toEqual([first.uuid]);

    const third = await world.deploy(application, { restart_only: true });
    await until(async () => (await world.steps(third)).retire === "done", { what: "the second one is retired" });
    expect((await world.system.releases.find(third.id))?.built_by).toBe(first.uuid);
    expect(world.engine.artifacts()).toEqual([first.uuid]);
    expect(await world.proxy.request(application.uuid)).toBe(third.uuid);

    const fourth = await world.deploy(application);
    await until(() => world.engine.artifacts().join() === fourth.uuid, { what: "what was built first is gone" });
    await until(() => world.engine.releases().length === 1, { what: "only the new release is left" });
  });

  test("that fails leaves the build in place", async () => {
    world.worker();
    const { application, first } = await deployed();
    world.points.fail("start", new DomainError("deploy.start_failed", "No."));
    const second = await world.ended(await world.deploy(application, { restart_only: true }));
    expect(second.status).toBe("failed");
    expect(world.engine.artifacts()).toEqual([first.uuid]);
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
  });

  test("builds when nothing was built before", async () => {
    world.worker();
    const application = await world.application();
    const deployment = await world.ended(await world.deploy(application, { restart_only: true }));
    expect(deployment.status).toBe("finished");
    expect(world.points.count("build")).toBe(1);
  });
});

describe("commands around the switch", () => {
  const COMMANDS = { pre_deployment_command: "migrate", post_deployment_command: "warm up" };

  test("run in the old release before it and in the new one after it", async () => {
    world.worker();
    const { application, first } = await deployed(COMMANDS);
    expect(world.engine.executed).toEqual([{ deploymentUuid: first.uuid, script: "warm up" }]);
    const second = await world.deploy(application);
    await world.ended(second);
    expect(world.engine.executed.slice(1)).toEqual([
      { deploymentUuid: first.uuid, script: "migrate" },
      { deploymentUuid: second.uuid, script: "warm up" },
    ]);
  });

  test("keep the old release when the first fails", async () => {
    world.worker();
    const { application, first } = await deployed(COMMANDS);
    world.engine.exec = () => ({ exitCode: 7, output: "no such table" });
    const second = await world.ended(await world.deploy(application));
    expect(second.error).toBe("The pre-deployment command exited with code 7.");
    expect(await world.log(second)).toContain("no such table");
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
  });

  test("change nothing when the second fails", async () => {
    world.worker();
    world.engine.exec = () => ({ exitCode: 7, output: "" });
    const { first } = await deployed({ post_deployment_command: "warm up" });
    expect(await world.log(first)).toContain("The post-deployment command exited with code 7.");
  });
});

describe("a proxy that does not answer", () => {
  const away = () => new DomainError("engine.unreachable", "The proxy is away.");

  test("gets the route as soon as it does", async () => {
    world.worker();
    const application = await world.application();
    await until(() => world.points.count("sync") > 0, { what: "the first look is over" });
    world.points.fail("put", away(), 2);
    const deployment = await world.ended(await world.deploy(application));
    expect(deployment.status).toBe("finished");
    expect(await world.proxy.request(application.uuid)).toBe(deployment.uuid);
  });

  test("fails the deployment, and the release before it is live and routed to", async () => {
    world.worker({ settings: { routeSecondsMax: 0.2 } });
    const { application, first } = await deployed();
    world.points.fail("put", away(), 1_000_000);
    world.points.fail("sync", away(), 1_000_000);
    const second = await world.ended(await world.deploy(application));
    expect(second).toMatchObject({ status: "failed", error: expect.stringContaining("The proxy is away.") });
    expect(await world.log(second)).toContain("The previous release keeps running.");
    expect(await world.system.releases.live(liveKeyOf(application))).toMatchObject({ deployment_uuid: first.uuid });
    await until(() => world.engine.releases().every(({ deploymentUuid }) => deploymentUuid === first.uuid), {
      what: "the candidate is gone",
    });
    expect(await world.proxy.request(application.uuid)).toBe(first.uuid);
    expect(await world.steps(second)).toMatchObject({ health: "undone", switch: "failed", retire: "skipped" });
  });

  test("fails the deployment in time when a further try hangs", async () => {
    world.worker({ settings: { routeSecondsMax: 2 } });
    const { application } = await deployed();
    world.points.fail("put", away(), 2);
    const held = world.points.hold("put");
    const asked = await world.deploy(application);
    await held.reached;
    await until(async () => (await world.steps(asked)).switch === "failed", { what: "the switch gives up" });
    held.open();
    const error = expect.stringContaining("The proxy is away.");
    expect(await world.ended(asked)).toMatchObject({ status: "failed", error });
  });

  test("fails the first deployment too, and nothing is left of it", async () => {
    world.worker({ settings: { routeSecondsMax: 0.2 } });
    const application = await world.application();
    await until(() => world.points.count("sync") > 0, { what: "the first look is over" });
    world.points.fail("put", away(), 1_000_000);
    expect((await world.ended(await world.deploy(application))).status).toBe("failed");
    expect(await world.system.releases.live(liveKeyOf(application))).toBeUndefined();
    await until(() => world.engine.releases().length === 0, { what: "the candidate is gone" });
  });

  test("is no matter of a release without a URL", async () => {
    world.worker({ settings: { routeSecondsMax: 0.2 } });
    const application = await world.application();
    await world.stores.domains.claim(application.id, [], { takeFromOwnTeam: false });
    world.points.fail("delete", away(), 1_000_000);
    expect((await world.ended(await world.deploy(application))).status).toBe("finished");
  });
});

describe("a release that holds ports of the server", () => {
  const SETTINGS = { ports_mappings: "8080:3000" };

  test("is stopped before the next one starts, and removed once that has taken over", async () => {
    world.engine.mapsPorts = true;
    world.worker();
    const { application, first } = await deployed(SETTINGS);
    const beside: string[] = [];
    world.engine.behave = ({ deploymentUuid }) => {
      const others = world.engine.releases().filter((release) => release.deploymentUuid === first.uuid);
      if (deploymentUuid !== first.uuid) beside.push(...others.map(({ state }) => state));
      return {};
    };
    const second = await world.deploy(application);
    expect((await world.ended(second)).status).toBe("finished");
    expect(new Set(beside)).toEqual(new Set(["exited"]));
    expect(await world.log(second)).toContain("only one can use port 8080 of the server");
    await until(() => !world.engine.artifacts().includes(first.uuid), { what: "the old release is gone" });
  });

  test("runs the pre-deployment command before it is stopped", async () => {
    world.engine.mapsPorts = true;
    world.worker();
    const { application, first } = await deployed({ ...SETTINGS, pre_deployment_command: "migrate" });
    const states: (string | undefined)[] = [];
    world.engine.exec = () => {
      const old = world.engine.releases().find(({ deploymentUuid }) => deploymentUuid === first.uuid);
      states.push(old?.state);
      return { exitCode: 0, output: "" };
    };
    const second = await world.deploy(application);
    expect((await world.ended(second)).status).toBe("finished");
    expect(new Set(states)).toEqual(new Set(["running"]));
    expect(world.engine.executed).toEqual([{ deploymentUuid: first.uuid, script: "migrate" }]);
  });

  test("runs on when its pre-deployment command fails", async () => {
    world.engine.mapsPorts = true;
    world.worker();
    const { application, first } = await deployed({ ...SETTINGS, pre_deployment_command: "migrate" });
    world.engine.exec = () => ({ exitCode: 7, output: "" });
    const second = await world.ended(await world.deploy(application));
    expect(second).toMatchObject({ status: "failed", error: "The pre-deployment command exited with code 7." });
    expect(world.engine.starts.get(first.uuid)).toBe(1);
  });

  test("comes back by itself when the next one fails", async () => {
    world.engine.mapsPorts = true;
    world.worker();
    const { application, first } = await deployed(SETTINGS);
    world.engine.behave = ({ deploymentUuid }) => (deploymentUuid === first.uuid ? {} : { exitCode: 3 });
    expect((await world.ended(await world.deploy(application))).status).toBe("failed");
    await until(async () => (await world.proxy.request(application.uuid)) === first.uuid, {
      what: "the old release serves",
    });
    await until(async () => (await world.status(application)) === "running:healthy", { what: "it is healthy" });
  });

  test("is refused before anything is fetched where the engine maps no ports", async () => {
    world.worker();
    const application = await world.application(SETTINGS);
    const checkouts = world.source.credentials.length;
    const refused = await world.ended(await world.deploy(application));
    expect(refused.error).toMatch(
      /^Server \S+ runs processes, .* let the program listen on port 8080, and set ports_exp/,
    );
    expect(world.source.credentials).toHaveLength(checkouts);
  });

  test("runs where the engine maps no ports and the program listens on the server's port itself", async () => {
    world.worker();
    const application = await world.application({ ports_mappings: "3000:3000", ports_exposes: "3000" });
    expect((await world.ended(await world.deploy(application))).error).toBeNull();
  });
});

describe("a release with a health check of its own", () => {
  test("decides by that, whatever it answers to requests", async () => {
    let health: "starting" | "healthy" = "starting";
    world.worker();
    world.engine.behave = () => ({ statusCode: () => 500, health: () => health });
    const application = await world.application();
    const deployment = await world.deploy(application);
    await until(async () => (await world.log(deployment)).includes("Using the image's HEALTHCHECK"), {
      what: "it is asked",
    });
    health = "healthy";
    expect((await world.ended(deployment)).status).toBe("finished");
    await until(async () => (await world.status(application)) === "running:healthy", { what: "it is healthy" });
  });

  test("fails as soon as that has failed", async () => {
    world.worker();
    world.engine.behave = () => ({ health: () => "unhealthy", healthOutput: "wget: not found\nexit 127" });
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment.error).toMatch(
      /^The new release is not healthy after \d+ seconds?: its image's own HEALTHCHECK fails\.$/,
    );
    expect(await world.log(deployment)).toContain("The HEALTHCHECK printed:\nwget: not found\nexit 127\n");
  });

  test("is asked by Berth while its engine has not begun with it, and its port must take connections too", async () => {
    const command = "pg_isready --host=127.0.0.1";
    let exitCode = 2;
    world.worker();
    world.engine.registry = new Map();
    world.engine.behave = () => ({
      health: () => "starting",
      ownCheck: () => ({ command, exitCode, lastWords: "no response" }),
    });
    const application = await world.application();
    const deployment = await world.deploy(application);
    await until(async () => (await world.log(deployment)).includes(`Runs its check about every second: ${command}`), {
      what: "it is asked",
    });
    await until(async () => (await world.log(deployment)).includes("exited with code 2: no response"), {
      what: "what it answers is said",
    });
    exitCode = 0;
    expect((await world.ended(deployment)).status).toBe("finished");
    await until(async () => (await world.status(application)) === "running:healthy", { what: "it is healthy" });
  });

  test("is asked of each container of a stack, while the engine has not begun with it", async () => {
    let exitCode = 1;
    const asked = new Set<string | undefined>();
    seenAsStack(({ restartCount, exitCode, startedAt }) => {
      const one = { state: "running", health: "starting", restartCount, exitCode, startedAt } as const;
      const rest = { address: null, port: null, isExcluded: false };
      return ["web", "db"].map((name) => ({ ...one, ...rest, name }));
    });
    const engineFor = world.engine.for;
    world.engine.for = (owner) => {
      const engine = engineFor(owner);
      const { containers } = engine;
      if (containers === undefined) throw new Error("It has no containers.");
      const ownCheck: typeof containers.ownCheck = async (_ref, _signal, container) => {
        asked.add(container);
        return { command: `check ${container}`, exitCode: container === "db" ? exitCode : 0, lastWords: "" };
      };
      return { ...engine, containers: { ...containers, ownCheck } };
    };
    world.engine.registry = new Map();
    world.worker();
    const deployment = await world.deploy(await world.application());
    await until(async () => (await world.log(deployment)).includes("container db has not passed its HEALTHCHECK yet"), {
      what: "it waits for one",
    });
    expect(await world.log(deployment)).toContain("about every second: check web; check db");
    exitCode = 0;
    expect((await world.ended(deployment)).status).toBe("finished");
    expect(asked).toEqual(new Set(["web", "db"]));
  });

  test("has not run steadily when a container restarts too slowly to count as crashed", async () => {
    let startedMs: number | undefined;
    seenAsStack(() => {
      startedMs ??= performance.now();
      const seconds = (performance.now() - startedMs) / 1000;
      const run = {
        state: seconds > 5.5 ? "exited" : "running",
        restartCount: seconds > 4 ? 1 : 0,
        exitCode: 7,
      } as const;
      return [{ ...run, name: "web", startedAt: null, address: null, port: null, isExcluded: false }];
    });
    world.worker();
    const deployment = await world.deploy(await world.application());
    expect((await world.ended(deployment)).status).toBe("failed");
    expect(await world.log(deployment)).toContain("container web: it exited with code 7");
  });

  test("does not wait for a container that its engine cannot start on any node", async () => {
    seenAsStack(({ restartCount, exitCode, startedAt }) => {
      const one = { restartCount, exitCode, startedAt, address: null, port: null, isExcluded: false };
      return [
        { ...one, name: "web", state: "running" },
        { ...one, name: "db", state: "created" },
      ];
    });
    const message = "Its data is on node node-2, which is down.";
    const engineFor = world.engine.for;
    world.engine.for = (owner) => {
      const engine = engineFor(owner);
      const { containers } = engine;
      if (containers === undefined) throw new Error("It has no containers.");
      const requireNodes = () => Promise.reject(new DomainError("deploy.start_failed", message));
      return { ...engine, containers: { ...containers, requireNodes } };
    };
    world.engine.registry = new Map();
    world.worker();
    const deployment = await world.ended(await world.deploy(await world.application()));
    expect(deployment).toMatchObject({ status: "failed", error: message });
  });

  test("tells a database how it is given more time", async () => {
    world.worker();
    world.engine.behave = () => ({ health: () => "unhealthy" });
    const { environment_id, server_id, destination_id } = await world.application();
    const where = { environment_id, server_id, destination_id };
    const slow = await testDatabaseResource(world.stores, await testPlace(world.stores), where);
    const deployment = await world.ended(await world.deploy(slow));
    expect(deployment.error).toMatch(
      /HEALTHCHECK fails\. If it only needs more time, .* raise health_check_retries\.$/,
    );
  });
});

test("a volume is recorded with its first release and asked for by every later one", async () => {
  world.worker();
  const application = await world.application();
  const place = { resourceUuid: application.uuid, container: null };
  const sent = { type: "persistent", name: "data", mount_path: "/app/data" } as const;
  await world.stores.storages.insert(application.id, testUuid(), newStorage(sent, place));
  const first = await world.deploy(application);
  await world.ended(first);
  expect(world.engine.specs.get(first.uuid)?.storages).toEqual([expect.not.objectContaining({ isRecorded: true })]);
  const second = await world.deploy(application);
  await world.ended(second);
  expect(world.engine.specs.get(second.uuid)?.storages).toEqual([expect.objectContaining({ isRecorded: true })]);
});

test("a deployment fails when the proxy hangs, and is not routed to when that ends", async () => {
  world.worker({ settings: { proxySecondsMax: 0.2 } });
  const held = world.points.hold("put");
  const application = await world.application();
  const deployment = await world.ended(await world.deploy(application));
  expect(deployment).toMatchObject({ status: "failed", error: expect.stringContaining("It does not answer.") });
  held.open();
  await until(async () => /^(404|503)$/.test(await world.proxy.request(application.uuid)), {
    what: "nothing is routed",
  });
});
