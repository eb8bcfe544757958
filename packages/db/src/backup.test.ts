import { BACKUP_DEFAULTS } from "@berth/core/backup";
import {
  endTestBackup,
  testBackup,
  testDatabaseResource,
  testPlace,
  testS3Storage,
  testTeam,
  testUuid,
} from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const fields = { enabled: true, frequency: "daily", s3_storage_id: null, settings: BACKUP_DEFAULTS };

onEachBackend((database) => {
  it("keeps schedules of a database, with where they are sent", async () => {
    const stores = await testTeam(database());
    const { id } = await testDatabaseResource(stores, await testPlace(stores));
    const storage = await testS3Storage(stores);
    const settings = { ...BACKUP_DEFAULTS, save_s3: true, database_backup_retention_max_storage_s3: 0.5 };
    const first = await stores.backups.insert(id, testUuid(), { ...fields, s3_storage_id: storage.id, settings });
    const second = await stores.backups.insert(id, testUuid(), { ...fields, enabled: false });
    expect(first).toMatchObject({ resource_id: id, s3_storage_uuid: storage.uuid, settings, requested_at: null });
    expect(await stores.backups.list(id)).toEqual({ items: [first, second], total: 2 });
    expect(await stores.backups.list(id, { skip: 1, take: 1 })).toEqual({ items: [second], total: 2 });
    expect(await stores.backups.listOf([id])).toEqual([first, second]);
    const changed = await stores.backups.update(id, first.uuid, { ...fields, frequency: "hourly" });
    expect(changed).toMatchObject({ frequency: "hourly", s3_storage_id: null, s3_storage_uuid: null });
    expect(await stores.backups.delete(id, first.uuid)).toBe(true);
    expect(await stores.backups.find(id, first.uuid)).toBeUndefined();
  });

  it("sends nothing to another team's storage", async () => {
    const [own, other] = [await testTeam(database()), await testTeam(database())];
    const { id } = await testDatabaseResource(own, await testPlace(own));
    const { id: foreign } = await testS3Storage(other);
    await expect(own.backups.insert(id, testUuid(), { ...fields, s3_storage_id: foreign })).rejects.toMatchObject({
      code: "resource.not_found",
    });
  });

  it("begins what was asked for once, when nothing of the schedule runs, and not for a database that goes", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { database: owner, schedule, execution } = await testBackup(database(), stores, place);
    const { backups, resources } = database().system;
    const begun = async () => await backups.beginRequested([place.server.id]);
    expect(await begun()).toBe(0);
    await stores.backups.request(owner.id, schedule.uuid);
    expect([await begun(), await backups.beginRequested([])]).toEqual([0, 0]);
    await endTestBackup(database().system, place.server.id, execution.uuid);
    expect([await begun(), await begun()]).toEqual([1, 0]);
    expect((await stores.backups.executions(schedule.id)).items).toHaveLength(2);
    await stores.backups.request(owner.id, schedule.uuid);
    await stores.resources.markRemoving(owner.id, { delete_volumes: true });
    expect([await begun(), await backups.begin(schedule.id, new Date())]).toEqual([0, undefined]);
    await resources.delete(owner.id);
    expect(await backups.begin(schedule.id, new Date())).toBeUndefined();
  });

  it("has an execution for each database, one for all of them, and none where there is nothing to save", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testDatabaseResource(stores, place);
    const { backups } = database().system;
    const namesOf = async (settings: Partial<typeof BACKUP_DEFAULTS>) => {
      const made = await stores.backups.insert(id, testUuid(), {
        ...fields,
        settings: { ...BACKUP_DEFAULTS, ...settings },
      });
      await backups.begin(made.id, new Date());
      const { items } = await stores.backups.executions(made.id);
      return items.map(({ database_name, status }) => [database_name, status]);
    };
    expect(await namesOf({ databases_to_backup: "a,b" })).toEqual([
      ["b", "running"],
      ["a", "running"],
    ]);
    expect(await namesOf({ databases_to_backup: "a,b", dump_all: true })).toEqual([[null, "running"]]);
    expect(await namesOf({})).toEqual([[null, "failed"]]);
    const claim = () => backups.claim([place.server.id], { owner: "one", leaseSeconds: 60, at: new Date() });
    expect((await claim())?.target).toEqual({ database: "a", excludedCollections: [] });
    // A second one of the same schedule waits for the first.
    expect((await claim())?.target).toBeNull();
    expect(await claim()).toBeUndefined();
  });

  it("skips a due time while the run before it continues, and emits an event", async () => {
    const stores = await testTeam(database());
    const { schedule } = await testBackup(database(), stores, await testPlace(stores));
    await database().system.backups.begin(schedule.id, new Date());
    const [skipped] = (await stores.backups.executions(schedule.id)).items;
    expect(skipped).toMatchObject({ status: "failed", message: expect.stringContaining("Skipped") });
    expect((await stores.events.list({})).map(({ type }) => type)).toContain("backup.skipped");
  });

  it("lists executions newest first, and the newest of several schedules", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, other] = [await testBackup(database(), stores, place), await testBackup(database(), stores, place)];
    const { backups } = database().system;
    await endTestBackup(database().system, place.server.id, one.execution.uuid);
    await backups.begin(one.schedule.id, new Date());
    const page = await stores.backups.executions(one.schedule.id, { take: 1 });
    const [second] = page.items;
    const first = await stores.backups.findExecution(one.schedule.id, one.execution.uuid);
    expect(page.total).toBe(2);
    expect((await stores.backups.executions(one.schedule.id)).items).toEqual([second, first]);
    const newest = await stores.backups.newestExecutions([one.schedule.id, other.schedule.id], 1);
    expect(newest.map(({ uuid }) => uuid)).toEqual([second?.uuid, other.execution.uuid]);
    expect(await stores.backups.newestExecutions([one.schedule.id], 5)).toEqual([second, first]);
    expect(await stores.backups.deleteExecution(other.schedule.id, one.execution.uuid)).toBe(false);
    expect(await stores.backups.deleteExecution(one.schedule.id, one.execution.uuid)).toBe(true);
    expect((await stores.backups.executions(one.schedule.id)).total).toBe(1);
  });

  it("ends an execution once, by whom it is run", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { schedule, execution } = await testBackup(database(), stores, place);
    const { system } = database();
    const end = { message: "said\0so", size_bytes: 6_000_000_000, filename: "/b/1" };
    await endTestBackup(system, place.server.id, execution.uuid, end);
    const again = {
      status: "failed",
      ...{ message: null, size_bytes: null, sha256: null, s3_uploaded: null, table_rows: null },
      ...{ keepsFile: false, finished_at: new Date() },
    } as const;
    expect(await system.backups.finish({ uuid: execution.uuid, owner: "worker" }, again)).toBe(false);
    const ended = await stores.backups.findExecution(schedule.id, execution.uuid);
    expect(ended).toMatchObject({
      ...end,
      message: expect.stringMatching(/^said.+so$/),
      status: "success",
      step: null,
    });
    expect((await stores.events.list({})).map(({ type }) => type)).toContain("backup.finished");
  });

  it("gives what nobody knows any more to be removed: files always, objects where that was asked for", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { system } = database();
    const made = async () => {
      const backup = await testBackup(database(), stores, place);
      const { uuid } = backup.execution;
      await endTestBackup(system, place.server.id, uuid, { folder: uuid, s3_key: `key-${uuid}` });
      const removals = async () =>
        (await system.backups.removals(uuid, 1000)).filter((one) => JSON.stringify(one).includes(uuid));
      return { ...backup, uuid, removals };
    };
    const kept = await made();
    await stores.backups.deleteExecution(kept.schedule.id, kept.uuid);
    const [file] = await kept.removals();
    expect(file).toMatchObject({ place: "local", filename: `/b/${kept.uuid}` });
    // A removal is returned again only after a delay.
    expect(await kept.removals()).toEqual([]);

    const gone = await made();
    await stores.backups.delete(gone.database.id, gone.schedule.uuid, { deleteS3: true });
    expect((await gone.removals()).map((one) => one.place).toSorted()).toEqual(["local", "s3"]);

    const old = await made();
    await system.backups.giveUp([old.uuid], "s3");
    expect(await old.removals()).toEqual([
      {
        id: expect.any(Number),
        place: "s3",
        team_id: old.storage.team_id,
        s3_storage_uuid: old.storage.uuid,
        s3_key: `key-${old.uuid}`,
      },
    ]);
    expect([
      (await system.backups.copies(old.schedule.id, "s3")).length,
      (await system.backups.copies(old.schedule.id, "local")).length,
    ]).toEqual([0, 1]);

    const removed = await made();
    await system.resources.delete(removed.database.id);
    expect((await removed.removals()).map((one) => one.place)).toEqual(["local"]);
  });

  const restoring = async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { system } = database();
    const backup = await testBackup(database(), stores, place);
    const { uuid, id } = backup.execution;
    await endTestBackup(system, place.server.id, uuid);
    const hold = { uuid: testUuid(), owner: "restorer" };
    await stores.restores.insert({
      ...{ uuid: hold.uuid, kind: "restore", database_name: "postgres", backup_execution_id: id },
      ...{ resource_id: backup.database.id, target_resource_id: backup.database.id },
    });
    const end = async () => {
      await system.restores.claim([place.server.id], { owner: hold.owner, leaseSeconds: 60, at: new Date() });
      const ended = { status: "success", message: null, tables: null, finished_at: new Date() } as const;
      expect(await system.restores.finish(hold, ended)).toBe(true);
    };
    return { ...backup, stores, place, backups: system.backups, uuid, end };
  };

  it("keeps the copies of one that is being restored, whatever the rules say, until that has ended", async () => {
    const { backups, schedule, uuid, end } = await restoring();
    const left = async () => (await backups.copies(schedule.id, "local")).length;
    await backups.giveUp([uuid], "local");
    expect(await left()).toBe(1);
    await end();
    await backups.giveUp([uuid], "local");
    expect(await left()).toBe(0);
  });

  it("is not made of a database that is being restored: it would hold half of it", async () => {
    const { backups, schedule, place, end } = await restoring();
    await backups.begin(schedule.id, new Date());
    const claim = () => backups.claim([place.server.id], { owner: "one", leaseSeconds: 60, at: new Date() });
    expect(await claim()).toBeUndefined();
    await end();
    expect(await claim()).toMatchObject({ schedule_id: schedule.id });
  });

  it("forgets restores but for the newest of each database", async () => {
    const [one, other] = [await restoring(), await restoring()];
    const { restores } = database().system;
    await one.end();
    const totals = async (kept: number) => {
      await restores.prune(kept);
      const listed = [one, other].map(({ stores, database: { id } }) => stores.restores.list(id));
      return (await Promise.all(listed)).map(({ total }) => total);
    };
    // The other run has not ended.
    expect([await totals(1), await totals(0)]).toEqual([
      [1, 1],
      [0, 1],
    ]);
  });

  it("forgets what has no copy left, however many newer ones have theirs", async () => {
    const stores = await testTeam(database());
    const { schedule } = await testBackup(database(), stores, await testPlace(stores));
    const insert = (count: number, filename: string | null) =>
      sql`insert into backup_execution (uuid, scheduled_backup_id, status, filename, folder)
        select gen_random_uuid()::text, ${schedule.id}::bigint, 'success', ${filename}::text, ${filename && "folder"}::text
        from generate_series(1, ${count}::int)`.execute(database().database.kysely);
    await insert(5, null);
    await insert(1200, "/b/x");
    while ((await database().system.backups.prune(10)) > 0);
    expect((await stores.backups.executions(schedule.id, { take: 1 })).total).toBe(1 + 1200);
  });

  it("ends what its owner left as failed, with what it left to be removed", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { schedule, execution } = await testBackup(database(), stores, place);
    const { backups } = database().system;
    await backups.claim([place.server.id], { owner: "killed", leaseSeconds: -1, at: new Date() });
    const hold = { uuid: execution.uuid, owner: "killed" };
    await backups.place(hold, { folder: execution.uuid, filename: "/b/half", s3_storage_id: null, s3_key: null });
    expect(await backups.renew("other", [execution.uuid], 60)).toEqual([]);
    await backups.endAbandoned(new Date());
    expect(await stores.backups.findExecution(schedule.id, execution.uuid)).toMatchObject({
      ...{ status: "failed", message: "The control plane stopped while it ran.", local_storage_deleted: true },
    });
    expect(await backups.removals(execution.uuid, 1000)).toContainEqual(
      expect.objectContaining({ filename: "/b/half" }),
    );
  });

  it("ends what its owner left as cancelled, where that was asked for", async () => {
    const { stores, place, database: owner, schedule, uuid } = await restoring();
    const { backups, restores } = database().system;
    const left = { owner: "killed", leaseSeconds: -1, at: new Date() };
    const { items } = await stores.restores.list(owner.id);
    const restore = items[0]?.uuid ?? "";
    await restores.claim([place.server.id], left);
    await stores.restores.requestCancel(owner.id, restore, new Date());
    await restores.endAbandoned(new Date());
    expect(await stores.restores.find(owner.id, restore)).toMatchObject({
      ...{ status: "cancelled-by-user", step: null, cancel_requested_at: expect.any(Date) },
      message: expect.stringMatching(/^Cancelled by a user\. The control plane stopped .* may be incomplete\.$/),
    });
    await backups.begin(schedule.id, new Date());
    await backups.claim([place.server.id], left);
    const execution = (await stores.backups.executions(schedule.id)).items[0]?.uuid ?? "";
    expect(execution).not.toBe(uuid);
    await stores.backups.requestCancel(schedule.id, execution, new Date());
    await backups.endAbandoned(new Date());
    expect((await stores.backups.findExecution(schedule.id, execution))?.status).toBe("cancelled-by-user");
  });

  it("hears of the end of a run as soon as it is there", async () => {
    const { stores, database: owner, end } = await restoring();
    const restore = (await stores.restores.list(owner.id)).items[0]?.uuid ?? "";
    expect((await stores.restores.untilEnded(owner.id, restore, 0.01))?.status).toBe("running");
    const ended = stores.restores.untilEnded(owner.id, restore, 60);
    await end();
    expect((await ended)?.status).toBe("success");
  });

  it("has what was broken off while it was sent removed again later: it may arrive after the first time", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { schedule, execution } = await testBackup(database(), stores, place);
    const { backups } = database().system;
    const claimed = await backups.claim([place.server.id], { owner: "one", leaseSeconds: 60, at: new Date() });
    const { uuid } = execution;
    const hold = { uuid, owner: "one" };
    await backups.place(hold, {
      ...{ folder: uuid, filename: `/b/${uuid}`, s3_key: uuid },
      s3_storage_id: claimed?.s3_storage_id ?? null,
    });
    await stores.backups.requestCancel(schedule.id, uuid, new Date());
    await backups.finish(hold, {
      ...{ status: "cancelled-by-user", message: null, size_bytes: null, sha256: null, s3_uploaded: false },
      ...{ table_rows: null, keepsFile: false, finished_at: new Date() },
    });
    const removals = sql<{ is_due: boolean }>`select not_before <= now() as is_due from backup_removal
      where s3_key = ${uuid} order by not_before`;
    const { rows } = await removals.execute(database().database.kysely);
    expect(rows).toEqual([{ is_due: true }, { is_due: false }, { is_due: false }]);
  });

  it("keeps the login of an S3 storage encrypted, and the storage while backups use it", async () => {
    const stores = await testTeam(database());
    const { storage, schedule, database: owner } = await testBackup(database(), stores, await testPlace(stores));
    await stores.s3Storages.update(storage.uuid, { name: "new", secret: "other-secret" });
    expect(await stores.s3Storages.find(storage.uuid)).toMatchObject({ name: "new", bucket: "backups" });
    const credential = (await stores.s3Storages.credentialsOf([storage.id])).get(storage.id);
    expect(credential?.for(storage.endpoint)).toEqual({ key: "AKEY", secret: "other-secret" });
    const { rows } = await sql<{ text: string }>`select encode(credentials, 'escape') as text
      from s3_storage`.execute(database().database.kysely);
    for (const { text } of rows) expect(text).not.toMatch(/AKEY|secret|hush/);
    expect(await stores.s3Storages.deleteIfUnused(storage.uuid)).toBe(false);
    await stores.backups.delete(owner.id, schedule.uuid);
    expect(await stores.s3Storages.deleteIfUnused(storage.uuid)).toBe(true);
  });
});
