import { DomainError } from "@berth/core";
import type { ApplicationRecord, Stores } from "@berth/core/ports";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { type TestDatabase, testApplication, testDatabase, testPlace, testTeam, testUuid } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type TestClock, testClock } from "./clock.fixture.ts";
import { createScheduler, type ScheduledKind, type Scheduler } from "./scheduler.ts";

let database: TestDatabase;
let stores: Stores;
let application: ApplicationRecord;
let clock: TestClock;
beforeEach(async () => {
  database = await testDatabase();
  stores = await testTeam(database);
  application = await testApplication(stores, await testPlace(stores));
  // After every change that a test makes, and at the beginning of an hour.
  clock = testClock(hour(0));
});
afterEach(() => database.close());

const START = Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 3_600_000;
const hour = (hours: number, seconds = 0) => new Date(START + hours * 3_600_000 + seconds * 1000);

/** Records each run as an event of the team, in place of a queue. */
const recorded: ScheduledKind = {
  async begin(tx, { subjectId, dueAt }) {
    const team = tx.forTeam(application.team_id);
    const { items } = await team.scheduledTasks.list(application.id);
    const task = items.find(({ id }) => id === subjectId);
    if (task === undefined) return undefined;
    if (task.command === "broken") throw new DomainError("internal.error", "On purpose.");
    const payload = { name: task.name, due: dueAt.toISOString() };
    await team.events.append({ type: "ran", resource_uuid: application.uuid, payload });
    return {
      team_id: application.team_id,
      resource_uuid: application.uuid,
      uuid: task.uuid,
      name: task.name,
    };
  },
};

const complaints: string[] = [];
function scheduler(own: TestClock = clock): Scheduler {
  const silent = () => undefined;
  return createScheduler({
    stores: database.system,
    clock: own,
    logger: { debug: silent, info: silent, warn: silent, error: (message) => void complaints.push(message) },
    settings: { scheduleSeconds: 5, schedulePeriodSeconds: 60 },
    kinds: { scheduled_task: recorded },
  });
}

const task = (fields: { name?: string; frequency?: string; command?: string } = {}) =>
  stores.scheduledTasks.insert(application.id, testUuid(), {
    name: "task",
    command: "true",
    frequency: "hourly",
    container: null,
    timeout: 300,
    enabled: true,
    ...fields,
  });
const eventsOf = async (type: string) => (await stores.events.list({})).filter((event) => event.type === type);
const runs = async () => (await eventsOf("ran")).map(({ payload }) => payload.due);

describe("a scheduler", () => {
  test("begins what is due, when it is due and once", async () => {
    await task();
    const { look } = scheduler();
    await look();
    await look();
    expect(await runs()).toEqual([]);
    clock.set(hour(1, 2));
    await look();
    await look();
    clock.set(hour(2));
    await look();
    expect(await runs()).toEqual([hour(1).toISOString(), hour(2).toISOString()]);
    expect(await eventsOf("schedule.missed")).toEqual([]);
  });

  test("begins each run once beside others that look at the same moment", async () => {
    for (let count = 0; count < 20; count += 1) await task({ name: `task ${count}` });
    const replicas = [clock, clock, testClock(hour(0, 7)), clock].map((own) => ({ own, ...scheduler(own) }));
    for (const hours of [0, 1, 2]) {
      for (const { own } of replicas) own.set(hour(hours, own === clock ? 1 : 8));
      await Promise.all(replicas.map(({ look }) => look()));
    }
    const names = (await eventsOf("ran")).map(({ payload }) => `${payload.name} ${payload.due}`);
    expect(names).toHaveLength(40);
    expect(new Set(names).size).toBe(40);
  });

  test("runs once what was missed while no scheduler worked, and emits an event", async () => {
    const { uuid } = await task({ name: "report" });
    const { look } = scheduler();
    await look();
    clock.set(hour(5, 1800));
    await look();
    clock.set(hour(6));
    await look();
    expect(await runs()).toEqual([hour(1).toISOString(), hour(6).toISOString()]);
    expect((await eventsOf("schedule.missed")).map((event) => [event.resource_uuid, event.payload])).toEqual([
      [
        application.uuid,
        {
          kind: "scheduled_task",
          subject_uuid: uuid,
          subject_name: "report",
          due_at: hour(1).toISOString(),
          skipped: 4,
        },
      ],
    ]);
  });

  test("is scheduled in the zone of the server", async () => {
    const server = await database.system.servers.find(application.server_id);
    await stores.servers.update(server?.uuid ?? "", { settings: { server_timezone: "Asia/Kolkata" } });
    await task();
    const { look } = scheduler();
    await look();
    // In that time zone, hours begin at half past.
    clock.set(hour(0, 1801));
    await look();
    expect(await runs()).toEqual([hour(0, 1800).toISOString()]);
  });

  test("runs nothing that was disabled or deleted meanwhile", async () => {
    const [disabled, deleted] = [await task(), await task()];
    const { look } = scheduler();
    await look();
    await stores.scheduledTasks.update(application.id, disabled.uuid, { enabled: false });
    await stores.scheduledTasks.delete(application.id, deleted.uuid);
    clock.set(hour(1));
    await look();
    expect(await runs()).toEqual([]);
  });

  test("begins the others when one cannot be begun, and tries that one again", async () => {
    const broken = await task({ command: "broken" });
    await task({ name: "other" });
    const { look } = scheduler();
    await look();
    clock.set(hour(1));
    await look();
    expect((await eventsOf("ran")).map(({ payload }) => payload.name)).toEqual(["other"]);
    expect(complaints).toContain("A due run could not be queued; Berth will retry.");
    await stores.scheduledTasks.update(application.id, broken.uuid, { command: "true" });
    clock.set(hour(1, 20));
    await look();
    expect((await eventsOf("ran")).map(({ payload }) => payload.name)).toEqual(["other", "task"]);
  });

  test("that stood still for three periods is reported, once, by itself or by another", async () => {
    const told = async () =>
      (await database.stores(ROOT_TEAM_ID).events.list({})).filter(({ type }) => type === "scheduler.stalled");
    const [one, other] = [scheduler(), scheduler()];
    await one.look();
    clock.set(hour(0, 170));
    await other.watch();
    expect(await told()).toEqual([]);
    clock.set(hour(0, 181));
    await other.watch();
    await one.watch();
    await one.look();
    expect((await told()).map(({ payload }) => payload)).toEqual([
      { since: hour(0).toISOString(), until: hour(0, 181).toISOString() },
    ]);
    clock.set(hour(3));
    await one.look();
    expect(await told()).toHaveLength(2);
  });

  test("begins again when a database that was away is back", async () => {
    await task();
    let isAway = true;
    const { transaction, ...others } = database.system;
    const away: typeof transaction = async (work) => {
      if (isAway) throw new DomainError("database.unavailable", "Away.");
      return await transaction(work);
    };
    const silent = () => undefined;
    const own = createScheduler({
      stores: { ...others, transaction: away },
      clock,
      logger: { debug: silent, info: silent, warn: silent, error: silent },
      settings: { scheduleSeconds: 0.02, schedulePeriodSeconds: 0.02 },
      kinds: { scheduled_task: recorded },
    });
    own.start();
    try {
      await expect(own.look()).rejects.toMatchObject({ code: "database.unavailable" });
      isAway = false;
      await expect
        .poll(async () => (await database.system.schedules.due("scheduled_task", hour(9), { take: 1 }))[0]?.is_planned)
        .toBe(true);
      clock.set(hour(1));
      await expect.poll(runs).toEqual([hour(1).toISOString()]);
    } finally {
      await own.stop();
    }
  });
});
