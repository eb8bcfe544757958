import { notFound } from "@berth/core";
import { BACKUP_DEFAULTS, type BackupSettings } from "@berth/core/backup";
import type { BackupCopies, BackupScheduleFields, BackupScheduleRecord, BackupStore } from "@berth/core/ports";
import { type Kysely, sql, type UpdateQueryBuilder, type UpdateResult } from "kysely";
import { cancelExecution } from "./backup-queue.ts";
import { idsOf, inTransaction, type TeamContext, wakeWorkers } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import { runEnd } from "./run.ts";
import type { DB } from "./schema.ts";

const SCHEDULE_COLUMNS = [
  "scheduled_backup.id",
  "scheduled_backup.uuid",
  "scheduled_backup.resource_id",
  "resource.team_id",
  "scheduled_backup.enabled",
  "scheduled_backup.frequency",
  "scheduled_backup.s3_storage_id",
  "s3_storage.uuid as s3_storage_uuid",
  "scheduled_backup.settings",
  "scheduled_backup.requested_at",
  "scheduled_backup.created_at",
  "scheduled_backup.updated_at",
] as const;

const EXECUTION_COLUMNS = [
  "backup_execution.id",
  "backup_execution.uuid",
  "backup_execution.scheduled_backup_id",
  "backup_execution.status",
  "backup_execution.message",
  "backup_execution.size_bytes",
  "backup_execution.filename",
  "backup_execution.database_name",
  "backup_execution.local_storage_deleted",
  "backup_execution.s3_storage_deleted",
  "backup_execution.s3_uploaded",
  "backup_execution.started_at",
  "backup_execution.step",
  "backup_execution.written_bytes",
  "backup_execution.sha256",
  "backup_execution.finished_at",
  "backup_execution.cancel_requested_at",
  "backup_execution.created_at",
  "backup_execution.updated_at",
] as const;

const selectSchedules = (db: Kysely<DB>) =>
  db
    .selectFrom("scheduled_backup")
    .innerJoin("resource", "resource.id", "scheduled_backup.resource_id")
    .leftJoin("s3_storage", "s3_storage.id", "scheduled_backup.s3_storage_id")
    .select(SCHEDULE_COLUMNS);

type ScheduleRow = Omit<BackupScheduleRecord, "settings"> & { readonly settings: Partial<BackupSettings> };
// Settings added after a row was written read as their default.
const scheduleRecord = (row: ScheduleRow): BackupScheduleRecord => ({
  ...row,
  settings: { ...BACKUP_DEFAULTS, ...row.settings },
});

export function backupStore(context: TeamContext): BackupStore {
  const { db, teamId } = context;
  const own = () => selectSchedules(db).where("resource.team_id", "=", teamId);
  const find = async (resourceId: number, uuid: string) => {
    const row = await own()
      .where("scheduled_backup.resource_id", "=", resourceId)
      .where("scheduled_backup.uuid", "=", uuid)
      .executeTakeFirst();
    return row && scheduleRecord(row);
  };
  return {
    list: (resourceId, paging = {}) =>
      page(
        paging,
        async (window) => {
          const owned = { owner: "scheduled_backup.resource_id", is: resourceId, id: "scheduled_backup.id" } as const;
          return (await within(ofOwner(own(), owned), window).execute()).map(scheduleRecord);
        },
        () => countRows(db.selectFrom("scheduled_backup").where("resource_id", "in", ownResource(context, resourceId))),
      ),
    async listOf(resourceIds) {
      const rows = await own()
        .where("scheduled_backup.resource_id", "in", idsOf(resourceIds))
        .orderBy("scheduled_backup.id")
        .execute();
      return rows.map(scheduleRecord);
    },
    find,
    insert: (resourceId, uuid, fields) =>
      inTransaction(context, async (tx) => {
        const owner = await ownResource(tx, resourceId).executeTakeFirst();
        if (owner === undefined) throw notFound("Database");
        const values = { ...(await columnsOf(tx, fields)), uuid, resource_id: owner.id };
        await tx.db.insertInto("scheduled_backup").values(values).execute();
        const made = await backupStore(tx).find(resourceId, uuid);
        if (made === undefined) throw notFound("Backup configuration");
        return made;
      }),
    update: (resourceId, uuid, fields) =>
      inTransaction(context, async (tx) => {
        await tx.db
          .updateTable("scheduled_backup")
          .set({ ...(await columnsOf(tx, fields)), updated_at: sql<Date>`now()` })
          .where("uuid", "=", uuid)
          .where("resource_id", "in", ownResource(context, resourceId))
          .execute();
        return await backupStore(tx).find(resourceId, uuid);
      }),
    request: (resourceId, uuid) =>
      inTransaction(context, async (tx) => {
        const asked = await tx.db
          .updateTable("scheduled_backup")
          .set({ requested_at: sql<Date>`coalesce(requested_at, now())` })
          .where("uuid", "=", uuid)
          .where("resource_id", "in", ownResource(context, resourceId))
          .executeTakeFirst();
        if (asked.numUpdatedRows > 0n) wakeWorkers(tx, "backup");
      }),
    delete: (resourceId, uuid, { deleteS3 = false } = {}) =>
      inTransaction(context, async (tx) => {
        const schedule = tx.db
          .selectFrom("scheduled_backup")
          .select("id")
          .where("uuid", "=", uuid)
          .where("resource_id", "in", ownResource(context, resourceId));
        if (deleteS3) await loseObjects(tx, (update) => update.where("scheduled_backup_id", "in", schedule));
        const deleted = await tx.db.deleteFrom("scheduled_backup").where("id", "in", schedule).executeTakeFirst();
        wakeWorkers(tx, "backup"); // Its copies are to be removed.
        return deleted.numDeletedRows > 0n;
      }),
    ...executionStore(context),
  };
}

const ownResource = ({ db, teamId }: TeamContext, resourceId: number) =>
  db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);

/** @throws DomainError `resource.not_found` for an S3 storage of another team */
async function columnsOf({ db, teamId }: TeamContext, { settings, ...fields }: BackupScheduleFields) {
  const { s3_storage_id } = fields;
  if (s3_storage_id !== null) {
    const storage = await db
      .selectFrom("s3_storage")
      .select("id")
      .where("id", "=", s3_storage_id)
      .where("team_id", "=", teamId)
      .executeTakeFirst();
    if (storage === undefined) throw notFound("S3 storage");
  }
  return { ...pick(fields, ["enabled", "frequency", "s3_storage_id"]), settings: JSON.stringify(settings) };
}

type ExecutionUpdate = UpdateQueryBuilder<DB, "backup_execution", "backup_execution", UpdateResult>;

/** Marks the objects of executions that are about to be deleted. */
const loseObjects = ({ db }: TeamContext, which: (update: ExecutionUpdate) => ExecutionUpdate) =>
  which(db.updateTable("backup_execution").set({ is_s3_going: true })).execute();

function executionStore(
  context: TeamContext,
): Pick<
  BackupStore,
  "findExecution" | "copies" | "executions" | "newestExecutions" | "deleteExecution" | "requestCancel" | "untilEnded"
> {
  const { db, teamId } = context;
  const ownSchedules = (ids: readonly number[]) =>
    db
      .selectFrom("scheduled_backup")
      .innerJoin("resource", "resource.id", "scheduled_backup.resource_id")
      .select("scheduled_backup.id")
      .where("scheduled_backup.id", "in", idsOf(ids))
      .where("resource.team_id", "=", teamId);
  const findExecution: BackupStore["findExecution"] = (scheduleId, uuid) =>
    db
      .selectFrom("backup_execution")
      .select(EXECUTION_COLUMNS)
      .where("uuid", "=", uuid)
      .where("scheduled_backup_id", "in", ownSchedules([scheduleId]))
      .executeTakeFirst();
  return {
    findExecution,
    copies: (scheduleId, uuid) =>
      db
        .selectFrom("backup_execution")
        .leftJoin("s3_storage", "s3_storage.id", "backup_execution.s3_storage_id")
        .select(({ eb }) => [
          eb
            .case()
            .when(sql<boolean>`filename is not null and not local_storage_deleted`)
            .then(sql<BackupCopies["file"]>`jsonb_build_object('folder', folder, 'filename', filename)`)
            .end()
            .as("file"),
          eb
            .case()
            .when(sql<boolean>`s3_uploaded and not s3_storage_deleted and s3_storage.id is not null`)
            .then(sql<BackupCopies["object"]>`jsonb_build_object('s3_storage_uuid', s3_storage.uuid, 's3_key', s3_key)`)
            .end()
            .as("object"),
        ])
        .where("backup_execution.uuid", "=", uuid)
        .where("scheduled_backup_id", "in", ownSchedules([scheduleId]))
        .executeTakeFirst(),
    requestCancel: (scheduleId, uuid, at) =>
      inTransaction(context, async (tx) => {
        const own = executionStore(tx);
        if ((await own.findExecution(scheduleId, uuid)) === undefined) return undefined;
        await cancelExecution(tx, uuid, at);
        wakeWorkers(tx, "backup");
        return await own.findExecution(scheduleId, uuid);
      }),
    untilEnded: (scheduleId, uuid, secondsMax) =>
      runEnd(context, { uuid, secondsMax }, () => findExecution(scheduleId, uuid)),
    async executions(scheduleId, paging = {}) {
      const schedule = await ownSchedules([scheduleId]).executeTakeFirst();
      if (schedule === undefined) return { items: [], total: 0 };
      const order = {
        owner: "backup_execution.scheduled_backup_id",
        is: schedule.id,
        id: "backup_execution.id",
        direction: "desc",
      } as const;
      return page(
        paging,
        (window) =>
          within(ofOwner(db.selectFrom("backup_execution").select(EXECUTION_COLUMNS), order), window).execute(),
        async () => {
          const kept = await db
            .selectFrom("backup_execution_count")
            .select("total")
            .where("scheduled_backup_id", "=", schedule.id)
            .executeTakeFirst();
          return kept?.total ?? 0;
        },
      );
    },
    newestExecutions: (scheduleIds, take) =>
      db
        .selectFrom(ownSchedules(scheduleIds).as("schedule"))
        .innerJoinLateral(
          (eb) =>
            eb
              .selectFrom("backup_execution")
              .select(EXECUTION_COLUMNS)
              .whereRef("backup_execution.scheduled_backup_id", "=", "schedule.id")
              .orderBy("backup_execution.scheduled_backup_id", "desc")
              .orderBy("backup_execution.id", "desc")
              .limit(take)
              .as("newest"),
          (join) => join.onTrue(),
        )
        .selectAll("newest")
        .orderBy("newest.id", "desc")
        .execute(),
    deleteExecution: (scheduleId, uuid, { deleteS3 = false } = {}) =>
      inTransaction(context, async (tx) => {
        const execution = tx.db
          .selectFrom("backup_execution")
          .select("id")
          .where("uuid", "=", uuid)
          .where("scheduled_backup_id", "in", ownSchedules([scheduleId]));
        if (deleteS3) await loseObjects(tx, (update) => update.where("id", "in", execution));
        const deleted = await tx.db.deleteFrom("backup_execution").where("id", "in", execution).executeTakeFirst();
        wakeWorkers(tx, "backup"); // Its copies are to be removed.
        return deleted.numDeletedRows > 0n;
      }),
  };
}
