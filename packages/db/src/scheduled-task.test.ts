import type { ScheduledTaskFields } from "@berth/core";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
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
    const { id } = await testApplication(stores, await testPlace(stores));
    return { stores, id, made: await stores.scheduledTasks.insert(id, testUuid(), task) };
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
    const { stores, id, made } = await withTask();
    const { scheduledTasks } = database().system;
    const uuids = [testUuid(), testUuid(), testUuid()];
    for (const [retry_count, uuid] of uuids.entries()) {
      await scheduledTasks.startExecution(made.id, { uuid, retry_count, started_at: at(0) });
    }
    const page = await stores.scheduledTasks.executions(made.id, { take: 2 });
    expect(page.total).toBe(3);
    expect(page.items.map(({ uuid }) => uuid)).toEqual([uuids[2], uuids[1]]);
    expect(page.items[0]).toMatchObject({ status: "running", retry_count: 2, finished_at: null, message: null });
    const other = await stores.scheduledTasks.insert(id, testUuid(), task);
    expect(await stores.scheduledTasks.executions(other.id, { take: 2 })).toEqual({ items: [], total: 0 });
    await stores.scheduledTasks.delete(id, made.uuid);
    expect(await stores.scheduledTasks.executions(made.id, { take: 0 })).toEqual({ items: [], total: 0 });
  });

  it("ends an execution once", async () => {
    const { stores, made } = await withTask();
    const { scheduledTasks } = database().system;
    const uuid = testUuid();
    await scheduledTasks.startExecution(made.id, { uuid, retry_count: 0, started_at: at(0) });
    const end = { status: "failed", message: "a\0b", error_details: null, finished_at: at(2) } as const;
    expect(await scheduledTasks.finishExecution(uuid, end)).toBe(true);
    expect(await scheduledTasks.finishExecution(uuid, { ...end, status: "success" })).toBe(false);
    const { items } = await stores.scheduledTasks.executions(made.id);
    expect(items).toMatchObject([{ status: "failed", message: "a\uFFFDb", finished_at: at(2) }]);
  });

  it("starts nothing of a task that was deleted", async () => {
    const { stores, id, made } = await withTask();
    expect(await stores.scheduledTasks.delete(id, made.uuid)).toBe(true);
    expect(await stores.scheduledTasks.delete(id, made.uuid)).toBe(false);
    const execution = { uuid: testUuid(), retry_count: 0, started_at: at(0) };
    expect(await database().system.scheduledTasks.startExecution(made.id, execution)).toBeUndefined();
  });
});
