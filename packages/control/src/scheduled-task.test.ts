import { KINDS_WITH_TASKS, SCHEDULED_TASKS_MAX, type TaskOwnerRef } from "@berth/core/schedule";
import { testApplication, testExecutions, testResource, testService } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

const task = { name: "Clean up", command: "rm -rf cache", frequency: "daily" };

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

describe.each(KINDS_WITH_TASKS)("[S17] scheduled tasks of an owner of the kind %s", (kind) => {
  let ref: TaskOwnerRef;
  beforeEach(async () => {
    const { uuid } = await testResource(at.stores, kind, at.place);
    ref = { kind, uuid };
  });

  test("are made with defaults, changed by what is sent, and deleted once", async () => {
    const made = await at.own.scheduledTasks.create(ref, task);
    expect(made).toMatchObject({ ...task, container: null, timeout: 300, enabled: true });
    const changed = await at.own.scheduledTasks.update(ref, made.uuid, { timeout: 60, enabled: false });
    expect(changed).toEqual({ ...made, timeout: 60, enabled: false, updated_at: changed.updated_at });
    expect(await at.own.scheduledTasks.list(ref, {})).toEqual({ items: [changed], total: 1 });
    expect(await at.own.scheduledTasks.delete(ref, made.uuid)).toEqual({ message: "Scheduled task deleted." });
    await expect(at.own.scheduledTasks.delete(ref, made.uuid)).rejects.toThrow("Scheduled task not found.");
  });

  test("[S59] list their executions page by page, with the newest first", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, task);
    const owner = await at.stores.resources.find(ref);
    const { id = 0 } = (await at.stores.scheduledTasks.find(owner?.id ?? 0, uuid)) ?? {};
    const uuids = await testExecutions(at.db.system, { id, uuid }, at.place.server.id, 3);
    const { items, total } = await at.own.scheduledTasks.executions(ref, uuid, { skip: 1, take: 1 });
    expect([items.map((execution) => execution.uuid), total]).toEqual([[uuids[1]], 3]);
  });

  test("are run when somebody asks for it, and once at a time", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, { ...task, enabled: false });
    const { message, execution_uuid } = await at.own.scheduledTasks.run(ref, uuid);
    expect(message).toBe("Scheduled task execution queued.");
    expect(await at.own.scheduledTasks.execution(ref, uuid, execution_uuid)).toMatchObject({
      status: "running",
      due_at: null,
      exit_code: null,
    });
    await expect(at.own.scheduledTasks.run(ref, uuid)).rejects.toMatchObject({ code: "resource.already_running" });
    expect((await at.own.scheduledTasks.executions(ref, uuid, {})).total).toBe(1);
    await expect(at.own.scheduledTasks.run(ref, "none")).rejects.toThrow("Scheduled task not found.");
    await expect(at.own.scheduledTasks.execution(ref, uuid, "none")).rejects.toThrow(
      "Scheduled task execution not found.",
    );
    const other = await at.own.scheduledTasks.create(ref, task);
    await expect(at.own.scheduledTasks.execution(ref, other.uuid, execution_uuid)).rejects.toThrow("not found");
    await at.own.scheduledTasks.delete(ref, uuid);
  });

  test("[S51] [S68] are read and written by those only who may, and see to it before anything is looked up", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, task);
    const team = at.place.server.team_id;
    const writer = at.as(team, "write").scheduledTasks;
    const reader = at.as(team, "read", "deploy").scheduledTasks;
    const missing: TaskOwnerRef = { kind, uuid: "nowhere" };
    const asked = [
      writer.list(missing, {}),
      writer.executions(missing, uuid, {}),
      reader.create(missing, task),
      reader.update(missing, uuid, { name: "x" }),
      reader.delete(missing, uuid),
      reader.run(missing, uuid),
      writer.execution(missing, uuid, "none"),
    ];
    const needed = ["read", "read", "write", "write", "write", "write", "read"];
    expect(await outcomes(asked)).toEqual(needed.map((ability) => `Missing required permissions: ${ability}`));
    expect((await reader.list(ref, {})).total).toBe(1);
  });

  test("[S51] [S67] of another team are not found, nor those of another resource", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, task);
    const { scheduledTasks } = at.otherTeam.control;
    const asked = [
      scheduledTasks.list(ref, {}),
      scheduledTasks.create(ref, task),
      scheduledTasks.update(ref, uuid, { name: "x" }),
      scheduledTasks.delete(ref, uuid),
      scheduledTasks.executions(ref, uuid, {}),
    ];
    const title = kind === "application" ? "Application" : "Service";
    expect(await outcomes(asked)).toEqual(asked.map(() => `${title} not found.`));
    const sibling: TaskOwnerRef = { kind, uuid: (await testResource(at.stores, kind, at.place)).uuid };
    const ofSibling = [
      at.own.scheduledTasks.update(sibling, uuid, { name: "x" }),
      at.own.scheduledTasks.delete(sibling, uuid),
      at.own.scheduledTasks.executions(sibling, uuid, {}),
    ];
    expect(await outcomes(ofSibling)).toEqual(ofSibling.map(() => "Scheduled task not found."));
    expect((await at.own.scheduledTasks.list(ref, {})).items).toMatchObject([{ uuid, name: "Clean up" }]);
  });

  test("come to an end, however many are made at once", async () => {
    const asked = Array.from({ length: SCHEDULED_TASKS_MAX + 5 }, () => at.own.scheduledTasks.create(ref, task));
    const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(5);
    expect((await at.own.scheduledTasks.list(ref, {})).total).toBe(SCHEDULED_TASKS_MAX);
    await expect(at.own.scheduledTasks.create(ref, task)).rejects.toMatchObject({ code: "request.invalid" });
  });

  test("refuse a change of nothing", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, task);
    await expect(at.own.scheduledTasks.update(ref, uuid, {})).rejects.toMatchObject({
      code: "request.invalid",
      fields: { _: ["At least one field must be provided."] },
    });
  });

  test("emit events that never hold their command", async () => {
    const { uuid } = await at.own.scheduledTasks.create(ref, { ...task, command: "curl -H 'key: hush-hush'" });
    const events = (await at.stores.events.list({})).filter(({ resource_uuid }) => resource_uuid === ref.uuid);
    expect(events.at(-1)).toMatchObject({ type: "resource.scheduled_tasks_changed", payload: { created: uuid } });
    expect(JSON.stringify(events)).not.toContain("hush-hush");
  });
});

describe("the container of a scheduled task", () => {
  const refused = (texts: string) => ({ code: "request.invalid", fields: { container: [texts] } });

  test("is one that its service has, or one of several of that name", async () => {
    const { service } = await testService(at.stores, at.place, ["web", "worker", "db"]);
    const ref = { kind: "service", uuid: service.uuid } as const;
    const sentence = "The service has no container of this name. It has web, worker and db.";
    await expect(at.own.scheduledTasks.create(ref, { ...task, container: "wbe" })).rejects.toMatchObject(
      refused(sentence),
    );
    expect((await at.own.scheduledTasks.list(ref, {})).total).toBe(0);
    const { uuid } = await at.own.scheduledTasks.create(ref, { ...task, container: "web-2" });
    const changed = at.own.scheduledTasks.update(ref, uuid, { name: "Other", container: "cache" });
    await expect(changed).rejects.toMatchObject(refused(sentence));
    expect((await at.own.scheduledTasks.list(ref, {})).items).toMatchObject([{ name: task.name, container: "web-2" }]);
    for (const container of ["db", "", null]) {
      expect(await at.own.scheduledTasks.update(ref, uuid, { container })).toMatchObject({ container });
    }
  });

  test("of an application is one of its compose file as soon as that is known", async () => {
    const application = await testApplication(at.stores, at.place, { settings: { build_pack: "dockercompose" } });
    const ref = { kind: "application", uuid: application.uuid } as const;
    await at.own.scheduledTasks.create(ref, { ...task, container: "later" });
    await at.own.deploy({ uuid: application.uuid, force: true });
    const claim = await at.db.system.deployments.claimNext({ owner: "test", leaseSeconds: 60 });
    if (claim === undefined) throw new Error("No deployment waits.");
    const artifact = { type: "stack", compose: "services: { web: { image: a } }", images: {}, files: [] } as const;
    await at.db.system.releases.saveCandidate(claim.lease, {
      artifact,
      upstream: null,
      built_by: claim.deployment.uuid,
    });
    await at.db.system.releases.promote(claim.lease);
    await at.db.system.deployments.finish(claim.lease, "finished", null);
    await expect(at.own.scheduledTasks.create(ref, { ...task, container: "wbe" })).rejects.toMatchObject(
      refused("The application has no container of this name. It has web."),
    );
    expect(await at.own.scheduledTasks.create(ref, { ...task, container: "web" })).toMatchObject({ container: "web" });
  });
});
