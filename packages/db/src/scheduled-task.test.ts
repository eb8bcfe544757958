import type { ScheduledTaskFields } from "@berth/core/ports";
import { testApplication, testExecutions, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const task: ScheduledTaskFields = {
  name: "Clean up",
  command: "rm -rf '/tmp/x y' # \n $HOME",
  frequency: "every_minute",
  container: null,
  timeout: 300,
  enabled: true,
};
const at = (second: number) => new Date(Date.UTC(2026, 0, 2, 3, 4, second));

onEachBackend((database) => {
  const withTask = async () => {
    const stores = await testTeam(database());
    const { server, ...place } = await testPlace(stores);
    const { id } = await testApplication(stores, { server, ...place });
    return { stores, server, id, made: await stores.scheduledTasks.insert(id, testUuid(), task) };
  };

  it("keeps tasks as they were written, and changes only the fields that are given", async () => {
    const { stores, id, made } = await withTask();
    expect(made).toMatchObject(task);
    expect(await stores.scheduledTasks.find(id, made.uuid)).toEqual(made);
    const changed = await stores.scheduledTasks.update(id, made.uuid, { container: "web", enabled: false });
    expect(changed).toMatchObject({ ...task, container: "web", enabled: false });
    expect(await stores.scheduledTasks.update(id, made.uuid, { container: null })).toMatchObject({ container: null });
    expect(await stores.scheduledTasks.update(id, "unknown", { name: "x" })).toBeUndefined();
  });

  it("lists tasks in the order they were made, page by page", async () => {
    const { stores, id, made } = await withTask();
    const second = await stores.scheduledTasks.insert(id, testUuid(), { ...task, name: "A" });
    expect(await stores.scheduledTasks.list(id)).toEqual({ items: [made, second], total: 2 });
    expect(await stores.scheduledTasks.list(id, { take: 1 })).toEqual({ items: [made], total: 2 });
  });

  it("lists executions with the newest first, and knows their total whatever is deleted", async () => {
    const { stores, id, made, server } = await withTask();
    const uuids = await testExecutions(database().system, made, server.id, 3);
    const page = await stores.scheduledTasks.executions(made.id, { take: 2 });
    expect(page.total).toBe(3);
    expect(page.items.map(({ uuid }) => uuid)).toEqual([uuids[2], uuids[1]]);
    expect(page.items[0]).toMatchObject({ status: "success", exit_code: 0, due_at: at(2), message: "2 files" });
    const other = await stores.scheduledTasks.insert(id, testUuid(), task);
    expect(await stores.scheduledTasks.executions(other.id, { take: 2 })).toEqual({ items: [], total: 0 });
    await stores.scheduledTasks.delete(id, made.uuid);
    expect(await stores.scheduledTasks.executions(made.id, { take: 0 })).toEqual({ items: [], total: 0 });
  });

  it("begins a due time once, and writes down one that is due while the task runs as skipped", async () => {
    const { stores, id, made } = await withTask();
    const { scheduledTasks } = database().system;
    await Promise.all(Array.from({ length: 4 }, () => scheduledTasks.begin(made.id, at(0))));
    await scheduledTasks.begin(made.id, at(1));
    const { items } = await stores.scheduledTasks.executions(made.id);
    expect(items.map(({ status, due_at, error_details }) => [status, due_at, error_details])).toEqual([
      ["failed", at(1), "Skipped: the run before it had not ended."],
      ["running", at(0), null],
    ]);
    expect((await stores.events.list({})).map(({ type }) => type)).toContain("scheduled_task.skipped");
    expect(await stores.scheduledTasks.request(id, made.uuid, { uuid: "now", at: at(2) })).toBeUndefined();
  });

  it("gives each execution to one owner, and lets nobody else write of it", async () => {
    const { made, server, stores } = await withTask();
    const { scheduledTasks } = database().system;
    await scheduledTasks.begin(made.id, at(0));
    const owners = ["a", "b", "c", "d"];
    const claims = await Promise.all(
      owners.map((owner) => scheduledTasks.claim([server.id], { owner, leaseSeconds: 60, at: at(1) })),
    );
    const taken = claims.filter((claim) => claim !== undefined);
    expect(taken).toHaveLength(1);
    const [claimed] = taken;
    const owner = owners[claims.findIndex((claim) => claim !== undefined)] ?? "";
    const uuid = claimed?.execution_uuid ?? "";
    expect(claimed).toMatchObject({ task_uuid: made.uuid, command: task.command, timeout: 300, server_id: server.id });
    const end = { status: "failed", exit_code: 3, error_details: "a\0b", finished_at: at(3) } as const;
    expect(await scheduledTasks.finish({ uuid, owner: "z" }, end)).toBe(false);
    await scheduledTasks.appendOutput({ uuid, owner: "z" }, "not mine");
    await scheduledTasks.appendOutput({ uuid, owner }, "one\0");
    await scheduledTasks.appendOutput({ uuid, owner }, "\ntwo");
    expect(await scheduledTasks.finish({ uuid, owner }, end)).toBe(true);
    expect(await scheduledTasks.finish({ uuid, owner }, { ...end, status: "success" })).toBe(false);
    const { items } = await stores.scheduledTasks.executions(made.id);
    expect(items).toMatchObject([
      { status: "failed", exit_code: 3, message: "one\uFFFD\ntwo", error_details: "a\uFFFDb", finished_at: at(3) },
    ]);
  });

  it("ends as failed what an owner left behind, and what nobody can take", async () => {
    const { made, server, stores, id } = await withTask();
    const { scheduledTasks, leases } = database().system;
    await scheduledTasks.begin(made.id, at(0));
    await scheduledTasks.claim([server.id], { owner: "a", leaseSeconds: 0, at: at(0) });
    const waiting = await stores.scheduledTasks.insert(id, testUuid(), task);
    await scheduledTasks.begin(waiting.id, at(0));
    const errors = async () => {
      const pages = await Promise.all([made, waiting].map((one) => stores.scheduledTasks.executions(one.id)));
      return pages.map(({ items }) => items[0]?.error_details ?? items[0]?.status);
    };
    const left = "The control plane stopped while it ran. Whether it took effect is not known.";
    await expect.poll(() => scheduledTasks.endAbandoned(at(5))).toBe(1);
    expect(await errors()).toEqual([left, "running"]);
    await sql`update scheduled_task_execution set created_at = now() - interval '1 hour'
      where scheduled_task_id = ${waiting.id}`.execute(database().database.kysely);
    await leases.acquire(`server:${server.id}`, "b", 60);
    expect(await scheduledTasks.endAbandoned(at(5))).toBe(0);
    await leases.release(`server:${server.id}`, "b");
    // Its control plane may be restarting.
    expect(await scheduledTasks.endAbandoned(at(5))).toBe(0);
    await sql`update lease set expires_at = now() - interval '1 hour' where name = ${`server:${server.id}`}`.execute(
      database().database.kysely,
    );
    expect(await scheduledTasks.endAbandoned(at(5))).toBe(1);
    expect(await errors()).toEqual([left, "No control plane can reach its server."]);
  });

  it("begins and renews nothing of a task that is disabled or goes", async () => {
    const { stores, id, made, server } = await withTask();
    const { scheduledTasks } = database().system;
    await stores.scheduledTasks.update(id, made.uuid, { enabled: false });
    expect(await scheduledTasks.begin(made.id, at(0))).toBeUndefined();
    await stores.scheduledTasks.request(id, made.uuid, { uuid: testUuid(), at: at(0) });
    const claimed = await scheduledTasks.claim([server.id], { owner: "a", leaseSeconds: 60, at: at(0) });
    const uuids = [claimed?.execution_uuid ?? ""];
    const held = uuids.map((uuid) => ({ uuid, is_cancel_requested: false }));
    expect(await scheduledTasks.renew("a", uuids, 60)).toEqual(held);
    expect(await scheduledTasks.renew("b", uuids, 60)).toEqual([]);
    await stores.resources.markRemoving(id, { delete_volumes: true });
    expect(await scheduledTasks.renew("a", uuids, 60)).toEqual([]);
    await stores.scheduledTasks.update(id, made.uuid, { enabled: true });
    expect(await scheduledTasks.begin(made.id, at(1))).toBeUndefined();
    await stores.scheduledTasks.delete(id, made.uuid);
    expect(await scheduledTasks.begin(made.id, at(2))).toBeUndefined();
  });

  it("forgets all but the newest executions of each task", async () => {
    const { stores, made, server } = await withTask();
    const uuids = await testExecutions(database().system, made, server.id, 5);
    const { scheduledTasks } = database().system;
    let forgotten = 0;
    for (let count = -1; count !== 0; forgotten += count) count = await scheduledTasks.prune(2);
    expect(forgotten).toBeGreaterThanOrEqual(3);
    const page = await stores.scheduledTasks.executions(made.id);
    expect([page.total, page.items.map(({ uuid }) => uuid)]).toEqual([2, [uuids[4], uuids[3]]]);
  });
});
