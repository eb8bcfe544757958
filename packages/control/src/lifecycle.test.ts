import { isDomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const created = async (fields = {}) => {
  const { uuid } = await at.own.applications.createPublic(gitApplication(at, fields));
  const { id } = (await at.stores.applications.find(uuid)) ?? { id: 0 };
  return { kind: "application", uuid, id } as const;
};
const numbers = (count: number) => Array.from({ length: count }, (_, n) => n).join(",");
const setQueueLimit = (deployment_queue_limit: number) =>
  at.own.servers.update(at.place.server.uuid, { deployment_queue_limit });
const queued = async () => (await at.own.deployments.listActive({})).total;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error) => (isDomainError(error) ? error.code : String(error)),
  );

describe("starting and stopping", () => {
  test("a start queues a deployment, and a second one of the same commit names the first", async () => {
    const app = await created();
    const first = await at.own.lifecycle.start(app, {});
    const second = await at.own.lifecycle.start(app, {});
    expect(first.message).toBe("Deployment request queued.");
    expect(second).toEqual({
      message: "Deployment already queued for this commit.",
      deployment_uuid: first.deployment_uuid,
    });
    const third = await at.own.lifecycle.start(app, { force: true });
    expect(third.deployment_uuid).not.toBe(first.deployment_uuid);
    expect((await at.own.deployments.get(third.deployment_uuid)).force_rebuild).toBe(true);
  });

  test("what runs is not started again without force, what is stopped not stopped again", async () => {
    const app = await created();
    expect(await codeOf(at.own.lifecycle.stop(app))).toBe("resource.already_stopped");
    await at.stores.resources.setDesiredState(app.id, "running");
    await at.db.system.resources.setStatus(liveKeyOf({ id: app.id, server_id: at.place.server.id }), "running:healthy");
    await expect(at.own.lifecycle.start(app, {})).rejects.toThrow("Application is already running.");
    expect(await codeOf(at.own.lifecycle.start(app, { force: true }))).toBe("done");
    expect((await at.own.lifecycle.stop(app)).message).toBe("Application stopping request queued.");
    expect((await at.stores.applications.find(app.uuid))?.desired_state).toBe("stopped");
  });

  test("what has crashed, or waits for its deployment, can be stopped for good", async () => {
    const app = await created();
    await at.own.lifecycle.start(app, {});
    expect([await codeOf(at.own.lifecycle.stop(app)), await codeOf(at.own.lifecycle.stop(app))]).toEqual([
      "done",
      "resource.already_stopped",
    ]);
  });

  test("who deploys what was stopped wants it to run", async () => {
    const app = await created();
    await at.stores.resources.setDesiredState(app.id, "stopped");
    await at.own.deploy({ uuid: app.uuid });
    expect((await at.stores.applications.find(app.uuid))?.desired_state).toBe("running");
  });

  test("a restart without a release builds, as there is nothing to start again", async () => {
    const app = await created();
    const { message, deployment_uuid } = await at.own.lifecycle.restart(app);
    expect(message).toBe("Restart request queued.");
    expect((await at.own.deployments.get(deployment_uuid)).restart_only).toBe(false);
  });

  test("a start after a stop builds, unless a rollback chose an older build, which it keeps", async () => {
    const app = await created();
    const { server } = at.place;
    const { deployments: queue, releases } = at.db.system;
    const finished = async (wanted: string, built_by = wanted) => {
      for (;;) {
        const claim = await queue.claimNext({ owner: "worker", leaseSeconds: 60 }, [server.id]);
        if (claim === undefined) throw new Error("It was queued above");
        const release = { artifact: { type: "image", image: built_by }, built_by, upstream: null } as const;
        await releases.saveCandidate(claim.lease, release);
        await releases.promote(claim.lease);
        await queue.finish(claim.lease, "finished", null);
        if (claim.deployment.uuid === wanted) return;
      }
    };
    const started = async (options = {}) => {
      const { deployment_uuid } = await at.own.lifecycle.start(app, options);
      return await at.own.deployments.get(deployment_uuid);
    };
    const first = await started();
    await finished(first.deployment_uuid);
    await at.own.lifecycle.stop(app);
    const second = await started();
    expect([first.restart_only, second.restart_only]).toEqual([false, false]);
    await finished(second.deployment_uuid);
    // As a rollback leaves it: a release of the first build.
    const back = await started({ force: true });
    await finished(back.deployment_uuid, first.deployment_uuid);
    await at.own.lifecycle.stop(app);
    expect(await started()).toMatchObject({ restart_only: true, force_rebuild: false });
    expect(await started({ force: true })).toMatchObject({ restart_only: false, force_rebuild: true });
  });

  test("needs the ability to deploy", async () => {
    const app = await created();
    const writer = at.as(at.place.server.team_id, "read", "write");
    expect([
      await codeOf(writer.lifecycle.start(app, {})),
      await codeOf(writer.lifecycle.restart(app)),
      await codeOf(writer.lifecycle.stop(app)),
      await codeOf(writer.deploy({ uuid: app.uuid })),
    ]).toEqual(Array(4).fill("auth.missing_ability"));
  });
});

describe("deleting", () => {
  test("marks the application, cancels what waits, and refuses to deploy it again", async () => {
    const app = await created();
    const { deployment_uuid } = await at.own.lifecycle.start(app, {});
    expect((await at.own.lifecycle.delete(app, { delete_volumes: false })).message).toBe(
      "Application deletion request queued.",
    );
    expect((await at.own.applications.get(app.uuid)).status).toBe("removing:unhealthy");
    expect((await at.own.deployments.get(deployment_uuid)).status).toBe("cancelled-by-user");
    expect((await at.stores.applications.find(app.uuid))?.delete_volumes).toBe(false);
    expect([await codeOf(at.own.lifecycle.start(app, {})), await codeOf(at.own.deploy({ uuid: app.uuid }))]).toEqual([
      "resource.state",
      "resource.state",
    ]);
    expect(await codeOf(at.own.lifecycle.delete(app, {}))).toBe("done");
    await at.db.system.resources.delete(app.id);
    expect(await codeOf(at.own.lifecycle.delete(app, {}))).toBe("resource.not_found");
  });
});

describe("deploying a list", () => {
  test("queues all that are found, each once", async () => {
    const [one, two] = [await created(), await created()];
    const answer = await at.own.deploy({ uuid: `${one.uuid}, ${two.uuid},unknown,${one.uuid}` });
    expect(answer.deployments?.map(({ resource_uuid }) => resource_uuid)).toEqual([one.uuid, two.uuid]);
    const again = await at.own.deploy({ uuid: one.uuid });
    expect(again.deployments).toEqual([
      {
        message: "Deployment already queued for this commit.",
        resource_uuid: one.uuid,
        deployment_uuid: answer.deployments?.[0]?.deployment_uuid,
      },
    ]);
  });

  test("is all or nothing when the queue is full", async () => {
    const apps = [await created(), await created(), await created()];
    const before = await queued();
    await setQueueLimit(before + 2);
    const uuids = apps.map(({ uuid }) => uuid);
    expect(await codeOf(at.own.deploy({ uuid: uuids.join(",") }))).toBe("queue.full");
    expect(await queued()).toBe(before);
    expect(await codeOf(at.own.deploy({ uuid: uuids.slice(1).join(",") }))).toBe("done");
    await setQueueLimit(1000);
  });

  test.each([
    [{}, "You must provide uuid or tag."],
    [{ uuid: "a", tag: "b" }, "You can only use uuid or tag, not both."],
    [{ tag: "b", pr: 3 }, "You can only use tag or pr, not both."],
    [{ tag: "b", docker_tag: "v1" }, "You can only use tag or docker_tag, not both."],
    [{ uuid: "a", docker_tag: "v1" }, "docker_tag requires pull_request_id."],
    [{ uuid: " ,, " }, "No UUIDs provided."],
    [{ tag: "," }, "No TAGs provided."],
    [{ uuid: "unknown" }, "No resources found."],
    [{ uuid: numbers(100) }, "No resources found."],
    [{ uuid: numbers(101) }, "At most 100 uuids in one request; you sent 101."],
    [{ tag: numbers(101) }, "At most 100 tags in one request; you sent 101."],
    [{ tag: "unknown" }, "No resources found with this tag."],
  ])("%j is refused: %s", async (request, message) => {
    await expect(at.own.deploy(request)).rejects.toThrow(message);
  });
});

describe("a full queue", () => {
  test("refuses every way to ask for a deployment, and leaves nothing half done", async () => {
    const app = await created({ name: "Waiting", autogenerate_domain: false });
    const total = (await at.own.applications.list({})).total;
    await setQueueLimit(1);
    await at.own.deploy({ uuid: app.uuid, force: true }).catch(() => undefined);
    const before = await queued();

    const asked = [
      at.own.deploy({ uuid: app.uuid, force: true }),
      at.own.lifecycle.start(app, { force: true }),
      at.own.lifecycle.start(app, { instant_deploy: true }),
      at.own.applications.update(app.uuid, { name: "Changed", git_commit_sha: "v2", instant_deploy: true }),
      at.own.applications.createPublic(gitApplication(at, { domains: "http://unborn.example", instant_deploy: true })),
    ];
    const results = await Promise.allSettled(asked);
    for (const result of results) {
      expect(result.status === "rejected" && result.reason).toMatchObject({
        code: "queue.full",
        message: "Deployment queue is full. Please wait for existing deployments to complete.",
        retryAfterSeconds: 60,
      });
    }
    expect(await queued()).toBe(before);
    expect((await at.own.applications.list({})).total).toBe(total);
    expect((await at.own.applications.get(app.uuid)).name).toBe("Waiting");
    await setQueueLimit(1000);
    expect(
      (await at.own.applications.createPublic(gitApplication(at, { domains: "http://unborn.example" }))).fqdn,
    ).toBe("http://unborn.example");
  });

  test("[S31] waits for workers; deploying at once is told by the creation", async () => {
    const { deployment_uuid } = await at.own.applications.createPublic(gitApplication(at, { instant_deploy: true }));
    expect(await at.own.deployments.get(deployment_uuid ?? "")).toMatchObject({ status: "queued", is_api: true });
  });
});

describe("a stop with docker_cleanup", () => {
  test("asks for one cleanup of the server, where there is anything to clean up", async () => {
    let canClean = true;
    const own = await world({ hasCleanup: () => canClean });
    try {
      const stop = async (options?: { docker_cleanup: boolean }) => {
        const { uuid } = await own.own.applications.createPublic(gitApplication(own));
        const { id } = (await own.stores.applications.find(uuid)) ?? { id: 0 };
        await own.stores.resources.setDesiredState(id, "running");
        await own.own.lifecycle.stop({ kind: "application", uuid }, options);
        return (await own.own.jobs.list({ type: "server.cleanup" })).items;
      };
      expect(await stop({ docker_cleanup: false })).toEqual([]);
      canClean = false;
      expect(await stop()).toEqual([]);
      canClean = true;
      expect(await stop()).toMatchObject([{ subject_uuid: own.place.server.uuid, status: "queued" }]);
      expect(await stop({ docker_cleanup: true })).toHaveLength(1);
    } finally {
      await own.db.close();
    }
  });
});
