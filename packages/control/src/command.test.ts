import { KINDS_WITH_TASKS, RUNNING_COMMANDS_MAX, type TaskOwnerRef } from "@berth/core/schedule";
import { testResource } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

/** An application with a live release. */
async function deployed(): Promise<TaskOwnerRef> {
  const { uuid } = await at.own.applications.createPublic(gitApplication(at));
  await at.own.deploy({ uuid, force: true });
  const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
  if (claim === undefined) throw new Error("Nothing was queued.");
  const artifact = { type: "image", image: "test" } as const;
  await at.db.system.releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: claim.deployment.uuid });
  await at.db.system.releases.promote(claim.lease);
  await at.db.system.deployments.finish(claim.lease, "finished", null);
  return { kind: "application", uuid };
}

async function endAll(): Promise<void> {
  for (;;) {
    const request = { owner: "test", leaseSeconds: 60, at: new Date() };
    const claimed = await at.db.system.scheduledTasks.claim([at.place.server.id], request);
    if (claimed === undefined) return;
    const lease = { uuid: claimed.execution_uuid, owner: "test" };
    await at.db.system.scheduledTasks.appendOutput(lease, "done");
    const end = { status: "success", exit_code: 0, error_details: null, finished_at: new Date() } as const;
    await at.db.system.scheduledTasks.finish(lease, end);
  }
}

describe("commands that are run once", () => {
  test.each(KINDS_WITH_TASKS)("are refused where nothing of the %s runs", async (kind) => {
    const { uuid } = await testResource(at.stores, kind, at.place);
    const asked = at.own.commands.run({ kind, uuid }, { command: "true" });
    await expect(asked).rejects.toMatchObject({ code: "resource.not_running" });
  });

  test("are run by a worker, show what they print, and are no scheduled tasks", async () => {
    const ref = await deployed();
    const asked = await at.own.commands.run(ref, { command: "npm run migrate", timeout: 60 });
    expect(asked).toMatchObject({ command: "npm run migrate", status: "running", output: "", exit_code: null });
    await endAll();
    const ended = await at.own.commands.get(ref, asked.uuid);
    expect(ended).toMatchObject({ status: "success", output: "done", exit_code: 0, timeout: 60 });
    expect(await at.own.commands.list(ref, {})).toEqual({ items: [ended], total: 1 });
    expect((await at.own.scheduledTasks.list(ref, {})).total).toBe(0);
    await expect(at.own.scheduledTasks.run(ref, asked.uuid)).rejects.toThrow("Scheduled task not found.");
    await expect(at.own.scheduledTasks.delete(ref, asked.uuid)).rejects.toThrow("Scheduled task not found.");
    const events = (await at.stores.events.list({ after: 0 })).map(({ type }) => type);
    expect(events).toEqual(expect.arrayContaining(["resource.command_requested", "command.finished"]));
    expect(await at.own.commands.delete(ref, asked.uuid)).toEqual({ message: "Command deleted." });
    await expect(at.own.commands.get(ref, asked.uuid)).rejects.toThrow("Command not found.");
  });

  test("are as many at once as one resource may run", async () => {
    const ref = await deployed();
    const run = () => at.own.commands.run(ref, { command: "true" });
    for (let count = 0; count < RUNNING_COMMANDS_MAX; count++) await run();
    await expect(run()).rejects.toMatchObject({ code: "resource.already_running" });
    await endAll();
    await run();
    await endAll();
  });

  test("stay as long as they are among the newest, or run", async () => {
    const ref = await deployed();
    const owner = await at.stores.resources.find(ref);
    const insert = (uuid: string) => {
      const command = { command: "true", container: null, timeout: 60, at: new Date() };
      return at.stores.commands.insert(owner?.id ?? 0, { ...command, uuid, execution_uuid: `${uuid}run` }, 2);
    };
    await insert("oldest");
    await endAll();
    for (const uuid of ["running", "newer", "newest"]) await insert(uuid);
    const { items, total } = await at.own.commands.list(ref, {});
    expect([items.map(({ uuid }) => uuid), total]).toEqual([["newest", "newer", "running"], 3]);
    await endAll();
  });

  test("are the owner's team's alone", async () => {
    const ref = await deployed();
    const { uuid } = await at.own.commands.run(ref, { command: "true" });
    await expect(at.otherTeam.control.commands.get(ref, uuid)).rejects.toThrow("Application not found.");
    await expect(at.otherTeam.control.commands.run(ref, { command: "true" })).rejects.toThrow("Application not found.");
    await endAll();
  });
});
