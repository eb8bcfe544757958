import { DomainError, notFound } from "@berth/core";
import { newEnv } from "@berth/core/env";
import type { ApplicationRecord, ScheduledTaskExecutionRecord } from "@berth/core/ports";
import { type TestDatabase, testDatabase, testUuid, until } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testClock } from "./clock.fixture.ts";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
let world: World;
beforeEach(async () => {
  database = await testDatabase();
  world = await openWorld(database);
});
afterEach(async () => {
  await world.close();
  await database.close();
});

type Fields = { command?: string; frequency?: string; timeout?: number; container?: string | null; enabled?: boolean };

async function running(): Promise<ApplicationRecord> {
  const application = await world.application();
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  return application;
}

const taskOf = (application: ApplicationRecord, fields: Fields = {}) =>
  world.stores.scheduledTasks.insert(application.id, testUuid(), {
    name: "task",
    command: "echo hello",
    frequency: "hourly",
    container: null,
    timeout: 300,
    enabled: true,
    ...fields,
  });
type Task = Awaited<ReturnType<typeof taskOf>>;

const run = (application: ApplicationRecord, task: Task) =>
  world.stores.scheduledTasks.request(application.id, task.uuid, { uuid: testUuid(), at: new Date() });
const executions = async ({ id }: Task) => (await world.stores.scheduledTasks.executions(id)).items;
const newest = async (task: Task): Promise<ScheduledTaskExecutionRecord | undefined> => (await executions(task))[0];
const ended = (task: Task) =>
  until(
    async () => {
      const execution = await newest(task);
      return execution === undefined || execution.status === "running" ? undefined : execution;
    },
    { what: "the execution ends" },
  );
/** Records the running release as one of a compose file. */
const asStack = ({ id }: ApplicationRecord, compose = "{}") =>
  database.database.kysely
    .updateTable("release")
    .set({ artifact: JSON.stringify({ type: "stack", compose, images: {}, files: [] }) })
    .where("resource_id", "=", id)
    .execute();
const events = async () => (await world.stores.events.list({})).map(({ type }) => type);

describe("a scheduled task", () => {
  test("runs its command as one argument in the live release, and keeps what that printed without secrets", async () => {
    world.worker();
    const application = await running();
    await world.stores.envs.insert(application.id, testUuid(), {
      key: "API_KEY",
      value: "sesame-0815",
      comment: null,
      is_preview: false,
      is_literal: false,
      is_multiline: false,
      is_shown_once: false,
      is_runtime: true,
      is_buildtime: false,
      is_required: false,
      order: null,
    });
    const command = "echo 'a b' \"$HOME\"; exit 0 # ünï\nsecond";
    const task = await taskOf(application, { command });
    world.engine.exec = () => ({ exitCode: 0, output: "key sesame-0815\ntwo" });
    await run(application, task);
    expect(await ended(task)).toMatchObject({
      status: "success",
      exit_code: 0,
      message: "key [REDACTED]\ntwo",
      error_details: null,
      due_at: null,
    });
    expect(world.engine.executed.map(({ script }) => script)).toEqual([command]);
    expect(await events()).toContain("scheduled_task.finished");
  });

  test("shows what it prints while it runs, as far as that is kept", async () => {
    world.worker({ settings: { taskOutputBytesMax: 12 } });
    const application = await running();
    const task = await taskOf(application);
    const held = world.points.hold("exec");
    world.engine.exec = () => ({ exitCode: 0, output: "first\nsecond\nthird" });
    await run(application, task);
    await held.reached;
    const message = await until(async () => (await newest(task))?.message ?? undefined, {
      what: "the output is there",
    });
    expect(message).toMatch(/^first\nThe rest of the output is left out/);
    expect((await newest(task))?.status).toBe("running");
    held.open();
    expect((await ended(task)).status).toBe("success");
  });

  test("fails with its exit code, its time limit, or why it could not run", async () => {
    world.worker();
    const application = await running();
    const outcome = async (fields: Fields, exec: World["engine"]["exec"]) => {
      const task = await taskOf(application, fields);
      world.engine.exec = exec;
      await run(application, task);
      const { status, exit_code, error_details } = await ended(task);
      return [status, exit_code, error_details];
    };
    const exits = (exitCode: number) => () => ({ exitCode, output: "" });
    expect(await outcome({}, exits(3))).toEqual(["failed", 3, "It exited with code 3."]);
    expect(await outcome({ timeout: 0 }, exits(124))).toEqual([
      "failed",
      null,
      "It took longer than 0 s and was ended.",
    ]);
    expect(await outcome({}, exits(124))).toEqual(["failed", 124, "It exited with code 124."]);
    const away = () => {
      throw new DomainError("engine.unreachable", "The server does not answer.");
    };
    expect(await outcome({}, away)).toEqual(["failed", null, "The server does not answer."]);
    const missing = () => {
      throw notFound("Container");
    };
    await asStack(application);
    const sentence = "It has no container sidecar. Change the container of the task to one that it has.";
    expect(await outcome({ container: "sidecar" }, missing)).toEqual(["failed", null, sentence]);
  });

  test("runs in the one container there is, whatever name it was given, and in the named one of several", async () => {
    world.worker();
    const application = await running();
    const task = await taskOf(application, { container: "web" });
    const containers = async () => {
      await run(application, task);
      expect((await ended(task)).status).toBe("success");
      return world.engine.executed.at(-1)?.container;
    };
    expect(await containers()).toBeUndefined();
    await world.stores.scheduledTasks.update(application.id, task.uuid, { container: "replica-2" });
    expect(await containers()).toBe("replica-2");
    await world.stores.scheduledTasks.update(application.id, task.uuid, { container: "web" });
    await asStack(application);
    expect(await containers()).toBe("web");
    await world.stores.scheduledTasks.update(application.id, task.uuid, { container: "" });
    expect(await containers()).toBeUndefined();
  });

  test("keeps nothing of what stands as a secret in the compose file", async () => {
    world.worker();
    const application = await running();
    await asStack(application, "services: { web: { image: a, environment: { DB_PASSWORD: hunter2, MODE: quick } } }");
    const task = await taskOf(application);
    world.engine.exec = () => ({ exitCode: 0, output: "quick hunter2" });
    await run(application, task);
    expect(await ended(task)).toMatchObject({ status: "success", message: "quick [REDACTED]" });
  });

  test("fails at once, and says why, where its variables come to more than any program gets", async () => {
    world.worker();
    const application = await running();
    const { sharedVariables, teams, envs } = world.stores;
    const fields = { value: "x".repeat(131_000), is_multiline: false, is_shown_once: false, comment: null };
    const owner = { scope: "team", id: (await teams.current())?.id ?? -1 } as const;
    await sharedVariables.insert(owner, testUuid(), { key: "LONG", ...fields });
    for (let n = 0; n < 130; n += 1) {
      await envs.insert(application.id, testUuid(), newEnv({ key: `A${n}`, value: "{{ team.LONG }}" }));
    }
    const task = await taskOf(application);
    await run(application, task);
    const error_details = expect.stringMatching(/^The values that the variables refer to exceed/);
    expect(await ended(task)).toMatchObject({ status: "failed", exit_code: null, error_details });
    expect(world.engine.executed).toEqual([]);
  });

  test("of what does not run fails with a sentence", async () => {
    world.worker();
    const application = await world.application();
    const task = await taskOf(application);
    await run(application, task);
    expect(await ended(task)).toMatchObject({
      status: "failed",
      error_details: "The application is not running. Start it first.",
    });
  });

  test("runs when it is due, once, whatever the number of workers", async () => {
    // A time after every change that the test makes.
    const hour = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 3_600_000;
    const clock = testClock(new Date(hour - 60_000));
    for (let count = 0; count < 3; count += 1) world.worker({ clock, settings: { scheduleSeconds: 0.1 } });
    const application = await running();
    const task = await taskOf(application);
    const disabled = await taskOf(application, { enabled: false });
    const isPlanned = async () =>
      (await database.system.schedules.due("scheduled_task", new Date(hour), { take: 1 }))[0];
    await until(async () => (await isPlanned())?.is_planned, { what: "it is planned" });
    clock.set(new Date(hour + 1000));
    expect(await ended(task)).toMatchObject({ status: "success", due_at: new Date(hour) });
    clock.set(new Date(hour + 3_601_000));
    await until(async () => (await executions(task)).length === 2, { what: "it runs again" });
    expect((await ended(task)).due_at).toEqual(new Date(hour + 3_600_000));
    expect(world.engine.executed).toHaveLength(2);
    expect(await executions(disabled)).toEqual([]);
  });

  test("of a worker that is killed in the middle ends as failed, is not run again, and may run the next time", async () => {
    const first = world.worker();
    const application = await running();
    const task = await taskOf(application);
    const held = world.points.hold("exec");
    await run(application, task);
    await held.reached;
    first.kill();
    world.worker();
    expect(await ended(task)).toMatchObject({
      status: "failed",
      error_details: "The control plane stopped while it ran. Whether it took effect is not known.",
    });
    held.open();
    expect(world.engine.executed).toHaveLength(1);
    await run(application, task);
    expect((await ended(task)).status).toBe("success");
    expect(await executions(task)).toHaveLength(2);
  });

  test("of a worker that is stopped ends as failed at once", async () => {
    const worker = world.worker();
    const application = await running();
    const task = await taskOf(application);
    const held = world.points.hold("exec");
    await run(application, task);
    await held.reached;
    await worker.stop({ graceSeconds: 0.05 });
    expect(await newest(task)).toMatchObject({
      status: "failed",
      error_details: "The control plane was stopped while it ran.",
    });
  });

  test("is broken off when what it belongs to is deleted", async () => {
    world.worker();
    const application = await running();
    const task = await taskOf(application);
    const held = world.points.hold("exec");
    await run(application, task);
    await held.reached;
    await world.stores.resources.markRemoving(application.id, { delete_volumes: false });
    await until(async () => (await world.status(application)) === undefined, { what: "the application is gone" });
    expect(await executions(task)).toEqual([]);
    expect(world.warnings).toEqual([]);
  });
});
