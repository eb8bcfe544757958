import { liveKeyOf } from "@berth/core/deploy";
import { testApplication, testDatabaseResource, testPlace, testService, testTeam } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("finds a resource by kind and uuid", async () => {
    const stores = await testTeam(database());
    const { uuid, id } = await testApplication(stores, await testPlace(stores));
    expect(await stores.resources.find({ kind: "application", uuid })).toMatchObject({ id, uuid, kind: "application" });
    expect(await stores.resources.find({ kind: "service", uuid })).toBeUndefined();
  });

  it("lists by kind, environment and server", async () => {
    const stores = await testTeam(database());
    const [here, there] = [await testPlace(stores), await testPlace(stores)];
    const one = await testApplication(stores, here);
    const two = await testApplication(stores, there);
    const uuidsOf = async (filter: Parameters<typeof stores.resources.list>[0]) => {
      const { items, total } = await stores.resources.list(filter);
      expect(total).toBe(items.length);
      return items.map(({ uuid }) => uuid);
    };
    expect(await uuidsOf({})).toEqual([one.uuid, two.uuid]);
    expect(await uuidsOf({ kind: "service" })).toEqual([]);
    expect(await uuidsOf({ environment_id: there.environment.id })).toEqual([two.uuid]);
    expect(await uuidsOf({ server_id: here.server.id, kind: "application" })).toEqual([one.uuid]);
    expect(await stores.resources.list({ kind: "application" }, { take: 1 })).toMatchObject({ total: 2 });
    expect(await stores.resources.list({ server_id: here.server.id }, { take: 0 })).toEqual({ items: [], total: 1 });
  });

  it("keeps the totals right when a resource moves", async () => {
    const stores = await testTeam(database());
    const [here, there] = [await testPlace(stores), await testPlace(stores)];
    const { id } = await testApplication(stores, here);
    await testApplication(stores, here);
    await database()
      .database.kysely.updateTable("resource")
      .set({ environment_id: there.environment.id, server_id: there.server.id })
      .where("id", "=", id)
      .execute();
    const totalOf = async (filter: Parameters<typeof stores.resources.list>[0]) =>
      (await stores.resources.list(filter, { take: 0 })).total;
    expect(await totalOf({ environment_id: here.environment.id })).toBe(1);
    expect(await totalOf({ environment_id: there.environment.id })).toBe(1);
    expect(await totalOf({ server_id: there.server.id })).toBe(1);
    expect(await totalOf({})).toBe(2);
  });

  it("keeps the environment that a resource is being moved to", async () => {
    const { kysely, kind } = database().database;
    if (kind === "pglite") return; // with one connection, nothing can wait for another
    const stores = await testTeam(database());
    const [here, there] = [await testPlace(stores), await testPlace(stores)];
    const { id } = await testApplication(stores, here);
    const isWaiting = async () => (await sql`select from pg_locks where not granted`.execute(kysely)).rows.length > 0;
    const { deletion } = await stores.transaction(async (tx) => {
      await tx.environments.findByUuid(there.environment.uuid);
      let hasEnded = false;
      const deletion = stores.environments.deleteIfEmpty(there.environment.id).finally(() => {
        hasEnded = true;
      });
      while (!hasEnded && !(await isWaiting())) await sql`select pg_sleep(0.01)`.execute(kysely);
      await tx.resources.move(id, there.environment.id);
      return { deletion };
    });
    expect(await deletion).toBe(false);
    expect((await stores.resources.list({ environment_id: there.environment.id })).total).toBe(1);
  });

  it("knows a removed resource for as long as it is told to", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [old, young, there] = [
      await testApplication(stores, place),
      await testApplication(stores, place),
      await testApplication(stores, place),
    ];
    const { resources } = database().system;
    for (const { id } of [old, young]) await resources.delete(id);
    await sql`update removed_resource set removed_at = now() - interval '11 days' where uuid = ${old.uuid}`.execute(
      database().database.kysely,
    );
    const all = [old.uuid, young.uuid, there.uuid];
    await resources.pruneRemoved(12);
    expect(await resources.everRecorded(all)).toEqual(new Set(all));
    await resources.pruneRemoved(10);
    expect(await resources.everRecorded(all)).toEqual(new Set([young.uuid, there.uuid]));
    expect(await resources.existing(all)).toEqual(new Set([there.uuid]));
  });

  it("marks a resource for removal once and lists it until it is gone", async () => {
    const stores = await testTeam(database());
    const { id, uuid } = await testApplication(stores, await testPlace(stores));
    const { resources } = database().system;
    expect(await stores.resources.markRemoving(id, { delete_volumes: true })).toBe(true);
    expect(await stores.resources.markRemoving(id, { delete_volumes: false })).toBe(false);
    const removing = (await resources.listRemoving()).find((resource) => resource.id === id);
    expect(removing).toMatchObject({ delete_volumes: true });
    expect(removing?.removing_at).toBeInstanceOf(Date);
    await resources.delete(id);
    await resources.delete(id);
    expect(await stores.applications.find(uuid)).toBeUndefined();
    expect(await resources.find(id)).toBeUndefined();
    const types = (await stores.events.list({})).map(({ type }) => type);
    expect(types).toEqual(["resource.created", "resource.removing", "resource.deleted"]);
  });

  it("writes a status, and its event, only when it changed", async () => {
    const stores = await testTeam(database());
    const { uuid, ...app } = await testApplication(stores, await testPlace(stores));
    const { resources } = database().system;
    await resources.setStatus(liveKeyOf(app), "running:healthy");
    await Promise.all([1, 2, 3].map(() => resources.setStatus(liveKeyOf(app), "running:healthy")));
    const running = await stores.applications.find(uuid);
    expect(running?.status).toBe("running:healthy");
    expect(running?.last_online_at).toBeInstanceOf(Date);
    await resources.setStatus(liveKeyOf(app), "exited:unhealthy");
    const changes = (await stores.events.list({})).filter(({ type }) => type === "resource.status_changed");
    expect(changes.map(({ payload }) => [payload.previous_status, payload.status])).toEqual([
      ["exited:unhealthy", "running:healthy"],
      ["running:healthy", "exited:unhealthy"],
    ]);
  });

  it("keeps why it cannot run beside its status, and reports each change of that", async () => {
    const stores = await testTeam(database());
    const { uuid, ...app } = await testApplication(stores, await testPlace(stores));
    const { setStatus } = database().system.resources;
    const part = liveKeyOf(app);
    const shown = async () => (await stores.applications.find(uuid))?.status_problem;
    for (const problem of ["n1 is down.", "n1 is down.", "n1 is drained."]) {
      await setStatus(part, "degraded:unhealthy", { problem });
      expect(await shown()).toBe(problem);
    }
    expect(await stores.resources.summaries([app.id])).toMatchObject([{ status_problem: "n1 is drained." }]);
    await setStatus(part, "running:healthy");
    expect(await shown()).toBeNull();
    const changes = (await stores.events.list({})).filter(({ type }) => type === "resource.status_changed");
    expect(changes.map(({ payload }) => payload.status_problem)).toEqual(["n1 is down.", "n1 is drained.", undefined]);
  });

  it("keeps a status that was written after the one that a plan saw", async () => {
    const stores = await testTeam(database());
    const { uuid, ...app } = await testApplication(stores, await testPlace(stores));
    const { setStatus } = database().system.resources;
    const part = liveKeyOf(app);
    await setStatus(part, "running:healthy");
    await setStatus(part, "starting:unknown", { replaces: "exited:unhealthy", problem: "n1 is down." });
    expect(await stores.applications.find(uuid)).toMatchObject({ status: "running:healthy", status_problem: null });
    await setStatus(part, "running:unhealthy", { replaces: "running:healthy", problem: "n1 is down." });
    expect(await stores.applications.find(uuid)).toMatchObject({
      status: "running:unhealthy",
      status_problem: "n1 is down.",
    });
  });

  it("keeps what was observed of restarts and what is wanted", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const { id, uuid } = app;
    const restarts = { restart_count: 3, last_restart_at: new Date("2026-03-03T03:03:03.003Z") };
    await database().system.resources.setRestarts(liveKeyOf(app), restarts);
    await stores.resources.setDesiredState(id, "stopped", "It restarted too often.");
    expect(await stores.applications.find(uuid)).toMatchObject({ stop_reason: "It restarted too often." });
    await stores.resources.setDesiredState(id, "running");
    const asked = { ...restarts, desired_state: "running", stop_reason: null };
    expect(await stores.applications.find(uuid)).toMatchObject(asked);
    expect((await database().system.resources.subject(id))?.record).toEqual(await stores.applications.find(uuid));
    expect(await database().system.resources.subject(999_999)).toBeUndefined();
    const subjects = await database().system.resources.subjects("application", [id, 999_999]);
    expect([...subjects]).toEqual([[id, await database().system.resources.subject(id)]]);
    expect((await database().system.resources.subjects("database", [id])).size).toBe(0);
  });

  it("keeps why an application could not be scaled, and says when that is new", async () => {
    const stores = await testTeam(database());
    const { uuid, ...app } = await testApplication(stores, await testPlace(stores));
    const { setScaleProblem } = database().system.resources;
    const part = liveKeyOf(app);
    const problem = async () => (await stores.applications.find(uuid))?.scale_problem;
    expect(await problem()).toBeNull();
    expect([await setScaleProblem(part, "No image."), await problem()]).toEqual([true, "No image."]);
    expect([await setScaleProblem(part, "No memory."), await problem()]).toEqual([false, "No memory."]);
    expect(await stores.resources.summaries([app.id])).toMatchObject([{ scale_problem: "No memory." }]);
    expect([await setScaleProblem(part, null), await problem()]).toEqual([false, null]);
    expect(await setScaleProblem(part, null)).toBe(false);
    expect(await setScaleProblem({ ...part, resource_id: 999_999 }, "No image.")).toBe(false);
  });

  it("keeps what was observed of the restarts of every kind", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const records = {
      application: await testApplication(stores, place),
      service: (await testService(stores, place)).service,
      database: await testDatabaseResource(stores, place),
    };
    for (const [kind, record] of Object.entries(records)) {
      const restarts = { restart_count: 3, last_restart_at: new Date("2026-03-03T03:03:03.003Z") };
      await database().system.resources.setRestarts(liveKeyOf(record), restarts);
      const { rows } = await sql`select restart_count, last_restart_at from ${sql.table(kind)}
        where resource_id = ${record.id}`.execute(database().database.kysely);
      expect(rows).toEqual([restarts]);
    }
  });

  it("lists all of a server with their claims", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const one = await testApplication(stores, place);
    const two = await testApplication(stores, place);
    const claims = [
      { host: `z.${one.uuid}.test`, path: "/", url: `http://z.${one.uuid}.test` },
      { host: `a.${one.uuid}.test`, path: "/api", url: `https://a.${one.uuid}.test/api` },
    ];
    await stores.domains.claim(one.id, claims, { takeFromOwnTeam: false });
    const listed = await database().system.resources.listByServer(place.server.id);
    expect(listed.map(({ uuid, domains }) => ({ uuid, domains }))).toEqual([
      { uuid: one.uuid, domains: claims },
      { uuid: two.uuid, domains: [] },
    ]);
    expect(await database().system.resources.routing(liveKeyOf(one))).toMatchObject({
      subject: { record: { uuid: one.uuid } },
      domains: claims,
    });
  });
});
