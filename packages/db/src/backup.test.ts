import { BACKUP_DEFAULTS } from "@berth/core";
import { testBackup, testDatabaseResource, testPlace, testS3Storage, testTeam, testUuid } from "@berth/testing";
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

  it("tells whoever makes backups what was asked for, until a run begins", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { database: owner, schedule } = await testBackup(database(), stores, place);
    const { backups, resources } = database().system;
    const requested = async () => (await backups.listRequested([place.server.id])).map(({ uuid }) => uuid);
    expect(await requested()).toEqual([]);
    await stores.backups.request(owner.id, schedule.uuid);
    expect([await requested(), await backups.listRequested([])]).toEqual([[schedule.uuid], []]);
    await backups.startExecution(schedule.id, { uuid: testUuid(), database_name: null });
    expect(await requested()).toEqual([]);
    await stores.backups.request(owner.id, schedule.uuid);
    await stores.resources.markRemoving(owner.id, { delete_volumes: true });
    expect(await requested()).toEqual([]);
    await resources.delete(owner.id);
    expect(await backups.startExecution(schedule.id, { uuid: testUuid(), database_name: null })).toBeUndefined();
  });

  it("lists executions newest first, and the newest of several schedules", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, other] = [await testBackup(database(), stores, place), await testBackup(database(), stores, place)];
    const { backups } = database().system;
    const second = await backups.startExecution(one.schedule.id, { uuid: testUuid(), database_name: "shop" });
    expect(await stores.backups.executions(one.schedule.id, { take: 1 })).toEqual({ items: [second], total: 2 });
    expect((await stores.backups.executions(one.schedule.id)).items).toEqual([second, one.execution]);
    expect(await stores.backups.newestExecutions([one.schedule.id, other.schedule.id], 1)).toEqual([
      second,
      other.execution,
    ]);
    expect(await stores.backups.newestExecutions([one.schedule.id], 5)).toEqual([second, one.execution]);
    expect(await stores.backups.deleteExecution(other.schedule.id, one.execution.uuid)).toBe(false);
    expect(await stores.backups.deleteExecution(one.schedule.id, one.execution.uuid)).toBe(true);
    expect((await stores.backups.executions(one.schedule.id)).total).toBe(1);
  });

  it("ends an execution once", async () => {
    const stores = await testTeam(database());
    const { schedule, execution } = await testBackup(database(), stores, await testPlace(stores));
    const { backups } = database().system;
    const end = { message: "said\0so", size_bytes: 6_000_000_000, filename: "/b/1", s3_uploaded: false };
    const at = new Date(Date.now() - 1000);
    expect(await backups.finishExecution(execution.uuid, { ...end, status: "success", finished_at: at })).toBe(true);
    expect(await backups.finishExecution(execution.uuid, { ...end, status: "failed", finished_at: at })).toBe(false);
    expect((await stores.backups.executions(schedule.id)).items).toEqual([
      {
        ...execution,
        ...end,
        message: expect.stringMatching(/^said.+so$/),
        status: "success",
        finished_at: at,
        updated_at: expect.any(Date),
      },
    ]);
  });

  it("keeps the login of an S3 storage encrypted, and the storage while backups use it", async () => {
    const stores = await testTeam(database());
    const { storage, schedule, database: owner } = await testBackup(database(), stores, await testPlace(stores));
    await stores.s3Storages.update(storage.uuid, { name: "new", secret: "other-secret" });
    expect(await stores.s3Storages.find(storage.uuid)).toMatchObject({ name: "new", bucket: "backups" });
    expect(await stores.s3Storages.credentialsOf([storage.id])).toEqual(
      new Map([[storage.id, { key: "AKEY", secret: "other-secret" }]]),
    );
    const { rows } = await sql<{ text: string }>`select encode(credentials, 'escape') as text
      from s3_storage`.execute(database().database.kysely);
    for (const { text } of rows) expect(text).not.toMatch(/AKEY|secret|hush/);
    expect(await stores.s3Storages.deleteIfUnused(storage.uuid)).toBe(false);
    await stores.backups.delete(owner.id, schedule.uuid);
    expect(await stores.s3Storages.deleteIfUnused(storage.uuid)).toBe(true);
  });
});
