import { testTeam } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("reads on behind the last event that was read, in pages", async () => {
    const { events } = await testTeam(database());
    for (const step of [1, 2, 3]) await events.append({ type: "test", resource_uuid: null, payload: { step } });
    const all = await events.list({});
    expect(all.map(({ payload }) => payload.step)).toEqual([1, 2, 3]);
    expect(await events.list({ after: all[0]?.id, take: 1 })).toEqual([all[1]]);
    expect(await events.list({ after: all[2]?.id })).toEqual([]);
  });

  it("writes an event with its transaction or not at all", async () => {
    const stores = await testTeam(database());
    const undone = stores.transaction(async (tx) => {
      await tx.events.append({ type: "lie", resource_uuid: null, payload: {} });
      throw new Error("on purpose");
    });
    await expect(undone).rejects.toThrow("on purpose");
    expect(await stores.events.list({})).toEqual([]);
  });

  it("shows no event before one with a smaller number, however long that one takes to be committed", async () => {
    const { kysely, kind } = database().database;
    if (kind === "pglite") return; // with one connection, transactions are serialised anyway
    await sql`create function slow_commit() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.5); return null; end $$`.execute(kysely);
    await sql`create constraint trigger slow after insert on event deferrable initially deferred
      for each row when (new.type = 'slow') execute function slow_commit()`.execute(kysely);
    const { events } = await testTeam(database());
    const committing = events.append({ type: "slow", resource_uuid: null, payload: {} });
    const isCommitting = async () => {
      const { rows } = await sql`select from pg_stat_activity
        where wait_event = 'PgSleep' and datname = current_database()`.execute(kysely);
      return rows.length;
    };
    await expect.poll(isCommitting, { interval: 5 }).toBe(1);
    // Its id is assigned, but it cannot be read yet.
    await events.append({ type: "fast", resource_uuid: null, payload: {} });
    expect((await events.list({})).map(({ type }) => type)).toEqual(["slow", "fast"]);
    await committing;
  });

  it("keeps text that PostgreSQL cannot hold as nearly as it can", async () => {
    const { events } = await testTeam(database());
    await events.append({ type: "test", resource_uuid: null, payload: { text: "a\0b\uD800c" } });
    expect((await events.list({}))[0]?.payload).toEqual({ text: "a\uFFFDb\uFFFDc" });
  });
});
