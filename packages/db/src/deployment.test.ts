import { type DeploymentStatus, isTerminal } from "@berth/core/deploy";
import type { ApplicationRecord, Stores } from "@berth/core/ports";
import { newDeployment, type TestDatabase, testApplication, testPlace, testTeam, took } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const NEVER = new AbortController().signal;

async function queued(stores: Stores, app: ApplicationRecord, fields: Parameters<typeof newDeployment>[1] = {}) {
  const [answer] = await stores.deployments.enqueue([newDeployment(app, fields)]);
  if (answer?.outcome !== "queued") throw new Error(`It was ${answer?.outcome}`);
  return answer.deployment;
}

async function ended(
  database: TestDatabase,
  app: ApplicationRecord,
  status: "finished" | "failed",
  error: string | null,
) {
  const claimed = await database.system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
  if (claimed === undefined) throw new Error("Nothing was queued");
  await database.system.deployments.finish(claimed.lease, status, error);
  return claimed.deployment;
}

onEachBackend((database) => {
  it("lists what waits and runs, oldest first, and nothing that has ended", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const done = await queued(stores, app);
    await ended(database(), app, "finished", null);
    const [second, third] = [await queued(stores, app), await queued(stores, app)];
    const { items, total } = await stores.deployments.listActive();
    expect(items).toEqual([second, third]);
    expect(total).toBe(2);
    expect(await stores.deployments.listActive({ take: 1 })).toEqual({ items: [second], total: 2 });
    expect((await stores.deployments.find(done.uuid))?.status).toBe("finished");
  });

  it("reads a deployment, its steps and the next lines of its log at once", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { uuid, id } = await queued(stores, app);
    const { deployments } = database().system;
    expect(await stores.deployments.progress(uuid, { after: 0, take: 5 })).toEqual({
      deployment: await stores.deployments.find(uuid),
      steps: [],
      lines: [],
    });
    const claimed = await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
    if (claimed === undefined) throw new Error("Nothing was queued");
    const timestamp = new Date("2026-11-30T12:00:00.123Z");
    const lines = ["a", "b", "c"].map((output) => ({
      step: null,
      type: "stdout" as const,
      output,
      hidden: false,
      timestamp,
    }));
    await deployments.saveStep(
      claimed.lease,
      "checkout",
      { status: "done", output: { folder: "f" } },
      { begins: "build", lines },
    );
    const steps = (await stores.deployments.steps(id)).map(({ output: _, ...step }) => step);
    expect(steps.map(({ status }) => status).slice(0, 3)).toEqual(["done", "running", "pending"]);
    const deployment = await stores.deployments.find(uuid);
    const { lines: all, ...read } = (await stores.deployments.progress(uuid, { after: 0, take: 5 })) ?? { lines: [] };
    expect(read).toEqual({ deployment, steps });
    expect(all).toEqual(await stores.deployments.log(id, {}));
    const next = await stores.deployments.progress(uuid, { after: 1, take: 1 });
    expect(next?.lines).toEqual([{ ...lines[1], seq: 2 }]);
    expect(await stores.deployments.progress("unknown", { after: 0, take: 5 })).toBeUndefined();
  });

  it("refuses the change of a lease that ended earlier in the same transaction", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { system } = database();
    const claimed = await system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
    if (claimed === undefined) throw new Error("Nothing was queued");
    const { lease } = claimed;
    await system.transaction(async ({ deployments }) => {
      expect(await deployments.saveStep(lease, "checkout", { status: "running" })).toBe(true);
      expect(await deployments.saveStep({ ...lease, attempt: 2 }, "checkout", { status: "done" })).toBe(false);
      expect(await deployments.saveCommit(lease, "abc", null)).toBe(true);
      expect(await deployments.finish(lease, "finished", null)).toBe(true);
      expect(await deployments.saveStep(lease, "checkout", { status: "done" })).toBe(false);
    });
  });

  it("lists an application's deployments newest first, all or of one pull request", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    await queued(stores, await testApplication(stores, place));
    const made = [];
    for (const pull_request_id of [0, 5, 0]) made.push(await queued(stores, app, { pull_request_id }));
    const [first, ofPullRequest, last] = made;
    expect(await stores.deployments.listByResource(app.id, {})).toEqual({
      items: [last, ofPullRequest, first],
      total: 3,
    });
    expect(await stores.deployments.listByResource(app.id, {}, { skip: 1, take: 1 })).toEqual({
      items: [ofPullRequest],
      total: 3,
    });
    expect(await stores.deployments.listByResource(app.id, { pull_request_id: 0 }, { take: 1 })).toEqual({
      items: [last],
      total: 2,
    });
    expect(await stores.deployments.listByResource(app.id, { pull_request_id: 9 })).toEqual({ items: [], total: 0 });
  });

  it("cancels a waiting deployment at once and asks the worker of a running one", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { deployments } = database().system;
    const [running, waiting] = [await queued(stores, app), await queued(stores, app)];
    const claimed = await deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]);
    if (claimed === undefined) throw new Error("It was queued above");

    const cancelled = await stores.deployments.requestCancel(waiting.uuid);
    expect(cancelled).toMatchObject({ status: "cancelled-by-user" });
    expect(cancelled?.finished_at).toBeInstanceOf(Date);
    const asked = await stores.deployments.requestCancel(running.uuid);
    expect(asked).toMatchObject({ status: "in_progress", finished_at: null });
    expect(asked?.cancel_requested_at).toBeInstanceOf(Date);
    expect(await stores.deployments.requestCancel(running.uuid)).toEqual(asked);
    expect(await deployments.renew("worker", [running.uuid], 60)).toEqual([
      { uuid: running.uuid, is_cancel_requested: true },
    ]);
    expect(await deployments.finish(claimed.lease, "cancelled-by-user", null)).toBe(true);

    const types = (await stores.events.list({})).map(({ type }) => type).filter((type) => type.includes("cancel"));
    expect(types).toEqual(["deployment.cancelled", "deployment.cancel_requested", "deployment.cancelled"]);
    expect(await stores.deployments.requestCancel("unknown")).toBeUndefined();
  });

  it("leaves a deployment that has ended as it is when it is cancelled", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    await queued(stores, app);
    const { uuid } = await ended(database(), app, "failed", "The build failed.");
    expect(await stores.deployments.requestCancel(uuid)).toMatchObject({
      status: "failed",
      error: "The build failed.",
      cancel_requested_at: null,
    });
  });

  it("ends a deployment that is started and cancelled at the same moment in one way", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    for (let round = 0; round < 10; round += 1) {
      const { uuid } = await queued(stores, app);
      const [claimed, cancelled] = await Promise.all([
        database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [app.server_id]),
        stores.deployments.requestCancel(uuid),
      ]);
      const expected: DeploymentStatus = claimed === undefined ? "cancelled-by-user" : "in_progress";
      expect(cancelled?.status).toBe(expected);
      expect((await stores.deployments.find(uuid))?.status).toBe(expected);
      if (claimed !== undefined) {
        await database().system.deployments.finish(claimed.lease, "cancelled-by-user", null);
      }
    }
  });

  it("hides no line and no state from a follower who reads, waits and reads again", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { id, uuid } = await queued(stores, app);
    const claimed = await database().system.deployments.claimNext({ owner: "worker", leaseSeconds: 60 }, [
      app.server_id,
    ]);
    if (claimed === undefined) throw new Error("It was queued above");
    const lines = 50;

    const follow = async () => {
      const seen: number[] = [];
      for (;;) {
        const deployment = await stores.deployments.find(uuid);
        const page = await stores.deployments.log(id, { after: seen.at(-1) });
        seen.push(...page.map(({ seq }) => seq));
        if (deployment !== undefined && isTerminal(deployment.status)) return seen;
        await stores.deployments.changed(id, NEVER);
      }
    };
    const write = async () => {
      for (let line = 0; line < lines; line += 1) {
        await database().system.deployments.appendLog(id, [
          { step: "build", type: "stdout", output: `line ${line}`, hidden: false, timestamp: new Date() },
        ]);
      }
      await database().system.deployments.finish(claimed.lease, "finished", null);
    };
    let writtenMs = 0;
    const written = async () => {
      writtenMs = await took(write);
    };
    let seen: readonly number[] = [];
    const followedMs = await took(async () => {
      [seen] = await Promise.all([follow(), written()]);
    });
    expect(seen).toEqual(Array.from({ length: lines }, (_, index) => index + 1));
    // Each missed notification costs a second.
    expect(followedMs - writtenMs).toBeLessThan((lines / 2) * 1000);
  });

  it("ends the wait for a change when the signal fires, and after a second", async () => {
    const stores = await testTeam(database());
    const { id } = await queued(stores, await testApplication(stores, await testPlace(stores)));
    await stores.deployments.changed(id, AbortSignal.abort());
    const ends: string[] = [];
    const patient = stores.deployments.changed(id, NEVER).then(() => ends.push("after a second"));
    const stopping = new AbortController();
    const stopped = stores.deployments.changed(id, stopping.signal).then(() => ends.push("by the signal"));
    stopping.abort();
    await Promise.all([patient, stopped]);
    expect(ends).toEqual(["by the signal", "after a second"]);
  });

  it("resolves at once when something changed between the read and the wait", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { id, uuid } = await queued(stores, app);
    const quiet = await queued(stores, await testApplication(stores, await testPlace(stores)));
    // The first notifications are those of its own changes.
    await stores.deployments.changed(id, NEVER);
    await stores.deployments.changed(quiet.id, NEVER);
    await stores.deployments.find(uuid);
    const heard = new Promise<void>((resolve) => {
      void database().database.listen("berth_deployment", (payload) => {
        if (payload === String(id)) resolve();
      });
    });
    await database().system.deployments.appendLog(id, [
      { step: null, type: "stderr", output: "in between", hidden: false, timestamp: new Date() },
    ]);
    await heard;
    const ends: string[] = [];
    await Promise.all([
      stores.deployments.changed(quiet.id, NEVER).then(() => ends.push("a second later")),
      stores.deployments.changed(id, NEVER).then(() => ends.push("at once")),
    ]);
    expect(ends).toEqual(["at once", "a second later"]);
  });
});
