import { DomainError } from "@berth/core";
import { liveKeyOf } from "@berth/core/deploy";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";
import { inTransaction } from "./context.ts";

onEachBackend((database) => {
  it("undoes everything when the work fails, also what nested calls did", async () => {
    const stores = await testTeam(database());
    const undone = stores.transaction(async (tx) => {
      const place = await testPlace(tx);
      await tx.transaction((nested) => testApplication(nested, place));
      throw new DomainError("queue.full", "on purpose");
    });
    await expect(undone).rejects.toMatchObject({ code: "queue.full" });
    expect(await stores.projects.list()).toEqual({ items: [], total: 0 });
    expect(await stores.applications.list({})).toEqual({ items: [], total: 0 });
    expect(await stores.events.list({})).toEqual([]);
  });

  it("keeps everything, and answers what the work answers", async () => {
    const stores = await testTeam(database());
    const uuid = await stores.transaction(async (tx) => {
      const application = await testApplication(tx, await testPlace(tx));
      expect(await tx.applications.find(application.uuid)).toEqual(application);
      return application.uuid;
    });
    expect(await stores.applications.find(uuid)).toBeDefined();
  });

  it("joins the system's stores and a team's in one transaction", async () => {
    const stores = await testTeam(database());
    const { id: teamId = -1 } = (await stores.teams.current()) ?? {};
    const place = await testPlace(stores);
    const { id, uuid } = await testApplication(stores, place);
    const undone = database().system.transaction(async (tx) => {
      await tx.resources.setStatus(liveKeyOf({ id, server_id: place.server.id }), "running:healthy");
      expect(await tx.forTeam(teamId).applications.find(uuid)).toMatchObject({ status: "running:healthy" });
      throw new Error("on purpose");
    });
    await expect(undone).rejects.toThrow("on purpose");
    expect(await stores.applications.find(uuid)).toMatchObject({ status: "exited:unhealthy" });
  });

  it("never keeps half: a failed statement that the work ignores undoes all", async () => {
    const stores = await testTeam(database());
    const { uuid } = await stores.projects.insert({ uuid: testUuid(), name: "one", description: null });
    const ignoring = stores.transaction(async (tx) => {
      await tx.projects.insert({ uuid: testUuid(), name: "two", description: null });
      await tx.projects.insert({ uuid, name: "again", description: null }).catch(() => undefined);
    });
    await expect(ignoring).rejects.toBeInstanceOf(DomainError);
    expect((await stores.projects.list()).total).toBe(1);
  });

  it("runs work again that PostgreSQL ended to resolve a deadlock", async () => {
    const { kysely, kind } = database().database;
    if (kind === "pglite") return; // with one connection, nothing can wait for another
    const stores = await testTeam(database());
    const one = await stores.projects.insert({ uuid: testUuid(), name: "0", description: null });
    const two = await stores.projects.insert({ uuid: testUuid(), name: "0", description: null });
    const context = { database: database().database, db: kysely, pending: undefined, cipher: neverUsed };
    let runs = 0;
    let holding = 0;
    const addBoth = (first: number, second: number) =>
      inTransaction(context, async ({ db }) => {
        runs += 1;
        await sql`update project set name = name::int + 1 where id = ${first}`.execute(db);
        holding += 1;
        // Waits until both transactions have locked their first row, on the first run of each.
        for (let turn = 0; holding < 2 && turn < 2000; turn += 1) await sql`select pg_sleep(0.01)`.execute(db);
        await sql`update project set name = name::int + 1 where id = ${second}`.execute(db);
      });
    await Promise.all([addBoth(one.id, two.id), addBoth(two.id, one.id)]);
    expect(runs).toBe(3);
    expect((await stores.projects.list()).items.map(({ name }) => name)).toEqual(["2", "2"]);
  });
});

const neverUsed = {
  newestVersion: 1,
  seal: () => {
    throw new Error("not used here");
  },
  open: () => {
    throw new Error("not used here");
  },
};
