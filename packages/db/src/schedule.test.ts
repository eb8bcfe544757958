import type { ScheduledTaskFields, ScheduleRecord, SystemScheduleStore } from "@berth/core/ports";
import { type TestDatabase, testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const task: ScheduledTaskFields = {
  name: "Clean up",
  command: "true",
  frequency: "every_minute",
  container: null,
  timeout: 300,
  enabled: true,
};
const at = (minute: number) => new Date(Date.UTC(2030, 0, 2, 3, minute));

onEachBackend((database) => {
  const withTask = async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testApplication(stores, place);
    const made = await stores.scheduledTasks.insert(id, testUuid(), task);
    const { schedules } = database().system;
    return { stores, place, id, made, schedules, seen: () => find(schedules, made.id, at(59)) };
  };

  it("has what is new due at once, to be planned, and then at its time", async () => {
    const { schedules, seen, made, place } = await withTask();
    const fresh = await seen();
    expect(fresh).toMatchObject({ is_planned: false, frequency: "every_minute", timezone: "UTC" });
    expect(fresh?.server_id).toBe(place.server.id);
    expect(fresh && (await schedules.advance(fresh, at(5)))).toBe(true);
    expect(await seen()).toMatchObject({ is_planned: true, due_at: at(5) });
    expect(await find(schedules, made.id, at(4))).toBeUndefined();
  });

  it("moves each due time on once, of many who see it", async () => {
    const { schedules, seen } = await withTask();
    const due = await seen();
    if (due === undefined) throw new Error("It is due");
    const answers = await Promise.all(Array.from({ length: 8 }, () => schedules.advance(due, at(5))));
    expect(answers.filter(Boolean)).toHaveLength(1);
  });

  it("plans anew what was changed, and leaves alone what was not", async () => {
    const { stores, id, made, schedules, seen } = await withTask();
    const plan = async (minute: number) => {
      const due = await seen();
      if (due !== undefined) await schedules.advance(due, at(minute));
    };
    await plan(5);
    await stores.scheduledTasks.update(id, made.uuid, { name: "Sweep", command: "false" });
    expect(await seen()).toMatchObject({ is_planned: true, due_at: at(5) });
    const before = await seen();
    await stores.scheduledTasks.update(id, made.uuid, { frequency: "hourly" });
    expect(await seen()).toMatchObject({ is_planned: false, frequency: "hourly" });
    expect(before && (await schedules.advance(before, at(6)))).toBe(false);
    await plan(7);
    await stores.scheduledTasks.update(id, made.uuid, { enabled: false });
    expect(await seen()).toBeUndefined();
    await stores.scheduledTasks.update(id, made.uuid, { enabled: true });
    expect(await seen()).toMatchObject({ is_planned: false });
    await stores.scheduledTasks.delete(id, made.uuid);
    expect(await seen()).toBeUndefined();
  });

  it("plans anew what is scheduled in the zone of a server when that was changed", async () => {
    const { place, schedules, seen } = await withTask();
    const due = await seen();
    if (due !== undefined) await schedules.advance(due, at(5));
    await sql`update server set settings = settings || '{"server_timezone": "Europe/Berlin"}'
      where id = ${place.server.id}`.execute(database().database.kysely);
    expect(await seen()).toMatchObject({ is_planned: false, timezone: "Europe/Berlin" });
  });

  it("forgets a schedule with what it is of", async () => {
    const { id, seen } = await withTask();
    await database().system.resources.delete(id);
    expect(await seen()).toBeUndefined();
  });

  it("ends a schedule that has no further time", async () => {
    const { schedules, seen } = await withTask();
    const due = await seen();
    expect(due && (await schedules.advance(due, undefined))).toBe(true);
    expect(await seen()).toBeUndefined();
  });

  it("keeps a schedule of a server's own work from its first day on", async () => {
    const { place, schedules } = await withTask();
    expect(await find(schedules, place.server.id, at(0), "disk_check")).toMatchObject({ frequency: "0 23 * * *" });
    expect(await find(schedules, place.server.id, at(0), "docker_cleanup")).toMatchObject({ frequency: "0 0 * * *" });
  });

  it("hands on what is due page by page, the longest due first", async () => {
    const { stores, id, made, schedules } = await withTask();
    const others = [];
    for (let count = 0; count < 4; count += 1) {
      others.push(await stores.scheduledTasks.insert(id, testUuid(), task));
    }
    const ids = [made, ...others].map((each) => each.id);
    const seen: number[] = [];
    for (let after: ScheduleRecord | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await schedules.due("scheduled_task", at(0), { take: 2, after });
      after = page.length === 2 ? page[1] : undefined;
      seen.push(...page.map(({ subject_id }) => subject_id));
    }
    expect(seen.filter((one) => ids.includes(one))).toEqual(ids);
  });

  it("tells once that no scheduler worked for a while, by whoever sees it first", async () => {
    const { schedules } = database().system;
    await forgetBeats(database());
    expect(await schedules.stalledSince(at(9), 180)).toBeUndefined();
    expect(await schedules.beat(at(1), 180)).toBeUndefined();
    expect(await schedules.beat(at(4), 180)).toBeUndefined();
    expect(await schedules.stalledSince(at(7), 180)).toBeUndefined();
    expect(await schedules.stalledSince(at(8), 180)).toEqual(at(4));
    expect(await schedules.stalledSince(at(9), 180)).toBeUndefined();
    expect(await schedules.beat(at(10), 180)).toBeUndefined();
    expect(await schedules.beat(at(20), 180)).toEqual(at(10));
    // A control plane whose clock is behind does not set it back.
    await schedules.beat(at(15), 180);
    expect(await schedules.stalledSince(at(22), 180)).toBeUndefined();
  });
});

async function find(
  schedules: SystemScheduleStore,
  subjectId: number,
  now: Date,
  kind: ScheduleRecord["kind"] = "scheduled_task",
): Promise<ScheduleRecord | undefined> {
  const due = await schedules.due(kind, now, { take: 1000 });
  return due.find(({ subject_id }) => subject_id === subjectId);
}

const forgetBeats = ({ database }: TestDatabase) => sql`delete from scheduler`.execute(database.kysely);
