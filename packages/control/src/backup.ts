import { DomainError, invalid, notFound } from "@berth/core";
import {
  BACKUPS_MAX,
  type BackupConfiguration,
  type BackupCreate,
  type BackupExecution,
  type BackupExecutionSummary,
  type BackupPlan,
  type BackupRunCancelled,
  type BackupScheduleDetails,
  type BackupUpdate,
  backupExecutionSummary,
  backupExecutionView,
  backupPlan,
  backupScheduleView,
  isBackupRunOver,
  newBackup,
} from "@berth/core/backup";
import type {
  BackupScheduleFields,
  BackupScheduleRecord,
  DatabaseRecord,
  Page,
  Paging,
  Stores,
} from "@berth/core/ports";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import { cancelBackupRun } from "./backup-cancel.ts";
import { type Download, downloadBackup } from "./backup-download.ts";
import { requireRoom, type UseCaseContext } from "./context.ts";
import { findDatabase, findDatabaseForUpdate } from "./database-answer.ts";
import { emitResourceEvent } from "./event.ts";
import { requireEngineFor } from "./lifecycle.ts";
import { mapPage } from "./page.ts";
import type { BackupRef } from "./restore.ts";
import { followRun } from "./run-follow.ts";

/** Number of executions shown with each schedule. */
const EXECUTIONS_SHOWN = 100;

/** Schedules of databases' backups, and their executions. */
export function backups(context: UseCaseContext) {
  const { scope, stores, ids, clock } = context;
  return {
    async list(databaseUuid: string, paging: Paging): Promise<Page<BackupScheduleDetails>> {
      requireAbility(scope, "read");
      const { id, engine } = await findDatabase(stores, databaseUuid);
      const page = await stores.backups.list(id, paging);
      const schedules = page.items.map((schedule) => schedule.id);
      const newest = await stores.backups.newestExecutions(schedules, EXECUTIONS_SHOWN);
      const executions = Map.groupBy(newest, ({ scheduled_backup_id }) => scheduled_backup_id);
      return mapPage(page, (schedule) => ({
        ...backupScheduleView(schedule, engine),
        executions: (executions.get(schedule.id) ?? []).map(backupExecutionView),
      }));
    },

    /** @throws DomainError `request.invalid`, `engine.unsupported` */
    async create(databaseUuid: string, sent: BackupCreate): Promise<{ uuid: string; message: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, databaseUuid);
        requireRoom(await tx.backups.list(database.id, { take: 0 }), BACKUPS_MAX, "backup schedules");
        const fields = await fieldsOf(tx, database, { ...newBackup(sent), s3_storage_id: null }, sent);
        const { uuid } = await tx.backups.insert(database.id, ids.uuid(), fields);
        if (sent.backup_now) await runNow(context, tx, database, uuid);
        await emitResourceEvent(tx, database, "resource.backups_changed", { created: uuid });
        return { uuid, message: "Backup configuration created successfully." };
      });
    },

    /** @throws DomainError `request.invalid`, `engine.unsupported` */
    async update(databaseUuid: string, uuid: string, sent: BackupUpdate): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, databaseUuid);
        const current = await tx.backups.find(database.id, uuid);
        if (current === undefined) throw notFound("Backup config");
        await tx.backups.update(database.id, uuid, await fieldsOf(tx, database, current, sent));
        if (sent.backup_now) await runNow(context, tx, database, uuid);
        await emitResourceEvent(tx, database, "resource.backups_changed", { updated: uuid });
      });
      return { message: "Database backup configuration updated" };
    },

    /**
     * Also deletes its executions and their files, and with `deleteS3` their objects. @throws DomainError
     * `resource.in_use`
     */
    async delete(databaseUuid: string, uuid: string, deleteS3 = false): Promise<{ message: string }> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      await stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, databaseUuid);
        const schedule = await findSchedule(tx, database, uuid);
        await requireNotRestored(tx, schedule.id);
        if (!(await tx.backups.delete(database.id, uuid, { deleteS3 }))) throw notFound(THING);
        await emitResourceEvent(tx, database, "resource.backups_changed", { deleted: uuid });
      });
      return { message: "Backup configuration and all executions deleted." };
    },

    /** Newest first. */
    async executions(databaseUuid: string, uuid: string, paging: Paging): Promise<Page<BackupExecutionSummary>> {
      requireAbility(scope, "read");
      const database = await findDatabase(stores, databaseUuid);
      const schedule = await findSchedule(stores, database, uuid);
      return mapPage(await stores.backups.executions(schedule.id, paging), backupExecutionSummary);
    },

    /** @throws DomainError `resource.not_found` */
    async followExecution(ref: BackupRef, signal: AbortSignal): Promise<AsyncIterable<BackupExecution>> {
      requireAbility(scope, "read");
      const database = await findDatabase(stores, ref.uuid);
      const { id } = await findSchedule(stores, database, ref.scheduled_backup_uuid);
      const uuid = ref.execution_uuid;
      const find = () => stores.backups.findExecution(id, uuid);
      const run = { title: "Backup execution", uuid, find, view: backupExecutionView, isOver: isBackupRunOver };
      return await followRun(context, run, signal);
    },

    /** Also deletes its file, and with `deleteS3` its object. @throws DomainError `resource.in_use` */
    async deleteExecution(
      databaseUuid: string,
      uuid: string,
      { executionUuid, deleteS3 = false }: { readonly executionUuid: string; readonly deleteS3?: boolean | undefined },
    ): Promise<{ message: string }> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      await stores.transaction(async (tx) => {
        const database = await findDatabaseForUpdate(tx, databaseUuid);
        const schedule = await findSchedule(tx, database, uuid);
        await requireNotRestored(tx, schedule.id, executionUuid);
        const isDeleted = await tx.backups.deleteExecution(schedule.id, executionUuid, { deleteS3 });
        if (!isDeleted) throw notFound("Backup execution");
        await emitResourceEvent(tx, database, "resource.backups_changed", { updated: uuid });
      });
      return { message: "Backup execution deleted." };
    },

    download: (ref: BackupRef, signal: AbortSignal): Promise<Download> => downloadBackup(context, ref, signal),

    /** @throws DomainError `backup.not_cancellable` */
    async cancelExecution(databaseUuid: string, uuid: string, executionUuid: string): Promise<BackupRunCancelled> {
      requireAbility(scope, "write");
      const { id } = await findSchedule(stores, await findDatabase(stores, databaseUuid), uuid);
      return cancelBackupRun({
        title: "Backup execution",
        find: () => stores.backups.findExecution(id, executionUuid),
        requestCancel: () => stores.backups.requestCancel(id, executionUuid, clock.now()),
        untilEnded: (secondsMax) => stores.backups.untilEnded(id, executionUuid, secondsMax),
      });
    },
  };
}

const THING = "Backup configuration";

async function findSchedule(stores: Stores, database: DatabaseRecord, uuid: string): Promise<BackupScheduleRecord> {
  const schedule = await stores.backups.find(database.id, uuid);
  if (schedule === undefined) throw notFound(THING);
  return schedule;
}

/**
 * A backup must not be deleted during its restore, which could leave a database half restored. @throws DomainError
 * `resource.in_use`
 */
async function requireNotRestored(tx: Stores, scheduleId: number, executionUuid?: string): Promise<void> {
  if (!(await tx.restores.isRunning(scheduleId, executionUuid))) return;
  throw new DomainError(
    "resource.in_use",
    "The backup is in use: it is being restored. Wait until the restore has ended.",
  );
}

/** The schedules of these databases with their newest execution, by the database's uuid. */
export async function backupConfigurations(
  stores: Stores,
  databases: readonly DatabaseRecord[],
): Promise<ReadonlyMap<string, BackupConfiguration[]>> {
  const schedules = databases.length === 0 ? [] : await stores.backups.listOf(databases.map(({ id }) => id));
  const ids = schedules.map(({ id }) => id);
  const newest = ids.length === 0 ? [] : await stores.backups.newestExecutions(ids, 1);
  const latest = new Map(newest.map((execution) => [execution.scheduled_backup_id, backupExecutionView(execution)]));
  const byDatabase = Map.groupBy(schedules, ({ resource_id }) => resource_id);
  return new Map(
    databases.map(({ id, uuid, engine }) => [
      uuid,
      (byDatabase.get(id) ?? []).map((schedule) => ({
        ...backupScheduleView(schedule, engine),
        latest_log: latest.get(schedule.id) ?? null,
      })),
    ]),
  );
}

type Current = BackupPlan & Pick<BackupScheduleFields, "s3_storage_id">;

async function fieldsOf(
  tx: Stores,
  { engine, fields }: DatabaseRecord,
  current: Current,
  sent: BackupUpdate,
): Promise<BackupScheduleFields> {
  const s3_storage_id = await storageOf(tx, current, sent);
  const { problems, ...plan } = backupPlan({ engine, fields, hasStorage: s3_storage_id !== null }, current, sent);
  if (Object.keys(problems).length > 0) throw invalid(problems);
  return { ...plan, s3_storage_id };
}

async function storageOf(tx: Stores, current: Current, { s3_storage_uuid }: BackupUpdate): Promise<number | null> {
  if (s3_storage_uuid === undefined) return current.s3_storage_id;
  if (s3_storage_uuid === null) return null;
  const storage = await tx.s3Storages.find(s3_storage_uuid);
  if (storage === undefined) throw invalid({ s3_storage_uuid: ["The team has no such S3 storage."] });
  return storage.id;
}

async function runNow(context: UseCaseContext, tx: Stores, database: DatabaseRecord, uuid: string): Promise<void> {
  await requireEngineFor(context, tx, database);
  await tx.backups.request(database.id, uuid);
}
