import { z } from "zod";
import { databaseType } from "../database/database.ts";
import type { DatabaseEngine } from "../database/database-engine.ts";
import { BACKUP_STEPS, type BackupExecutionRecord, type BackupScheduleRecord } from "../ports/backup.ts";
import { OffsetTimestamp, offsetTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { BACKUP_STATUSES } from "./backup-status.ts";

export const BackupExecution = z
  .object({
    id: z.int(),
    uuid: z.string(),
    scheduled_database_backup_id: z.int().describe("Its schedule."),
    status: z.enum(BACKUP_STATUSES),
    message: z.string().nullable(),
    size: z.string().nullable().describe("Bytes, a number as text."),
    filename: z.string().nullable().describe("On the server."),
    database_name: z.string().nullable(),
    local_storage_deleted: z.boolean(),
    s3_storage_deleted: z.boolean(),
    s3_uploaded: z.boolean().nullable().describe("Null if it is not uploaded to an S3 storage."),
    step: z.enum(BACKUP_STEPS).nullable().describe("The current step. Null after its end."),
    written_bytes: z.int().nullable().describe("So far."),
    checksum: z.string().nullable().describe("SHA-256 of the file, in hexadecimal."),
    duration: z.number().nullable().describe("Seconds. Null until it has ended."),
    started_at: Timestamp.nullable(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    cancel_requested_at: Timestamp.nullable(),
  })
  .meta({ id: "BackupExecution", description: "One backup of a database." });
export type BackupExecution = z.infer<typeof BackupExecution>;

/** An execution in the list of executions. */
export const BackupExecutionSummary = z
  .object({
    uuid: z.string(),
    filename: z.string().nullable(),
    database_name: z.string().nullable().describe("Null if it contains all databases of the server."),
    size: z.string().nullable().describe("Bytes, a number as text."),
    created_at: OffsetTimestamp,
    message: z.string().nullable(),
    status: z.enum(BACKUP_STATUSES),
    duration: z.number().nullable().describe("Seconds. Null until it has ended."),
  })
  .meta({ id: "BackupExecutionSummary", description: "One backup of a database, in a list." });
export type BackupExecutionSummary = z.infer<typeof BackupExecutionSummary>;

export const BackupSchedule = z
  .object({
    id: z.int(),
    uuid: z.string(),
    description: z.string().nullable(),
    team_id: z.int(),
    database_id: z.int(),
    database_type: z.string(),
    enabled: z.boolean(),
    frequency: z.string().describe("As its owner wrote it: a cron expression or a name such as `daily`."),
    s3_storage_id: z.int().nullable(),
    s3_storage_uuid: z.string().nullable(),
    disable_local_backup: z.boolean(),
    save_s3: z.boolean(),
    dump_all: z.boolean().describe("All databases are backed up."),
    databases_to_backup: z.string().nullable(),
    database_backup_retention_amount_locally: z.int().describe("0: no limit."),
    database_backup_retention_days_locally: z.int().describe("0: no limit."),
    database_backup_retention_max_storage_locally: z.number().describe("Gigabytes. 0: no limit."),
    database_backup_retention_amount_s3: z.int().describe("0: no limit."),
    database_backup_retention_days_s3: z.int().describe("0: no limit."),
    database_backup_retention_max_storage_s3: z.number().describe("Gigabytes. 0: no limit."),
    timeout: z.int().describe("Seconds."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "BackupSchedule", description: "A schedule of a database's backups." });
export type BackupSchedule = z.infer<typeof BackupSchedule>;

/** A schedule with its newest executions. */
export const BackupScheduleDetails = z
  .object({
    ...BackupSchedule.shape,
    executions: z.array(BackupExecution).describe("The newest 100, newest first; another operation lists all."),
  })
  .meta({
    id: "BackupScheduleDetails",
    description: "A schedule of a database's backups, with its newest executions.",
  });
export type BackupScheduleDetails = z.infer<typeof BackupScheduleDetails>;

/** A schedule in the list of databases. */
export const BackupConfiguration = z
  .object({ ...BackupSchedule.shape, latest_log: BackupExecution.nullable().describe("The newest execution.") })
  .meta({ id: "BackupConfiguration", description: "A schedule of a database's backups, with its last execution." });
export type BackupConfiguration = z.infer<typeof BackupConfiguration>;

export const BackupRunCancelled = z
  .object({
    message: z.string(),
    uuid: z.string(),
    status: z.enum(BACKUP_STATUSES),
    detail: z.string().nullable().describe("What is left of it; for a restore, the state of the database."),
  })
  .meta({ id: "BackupRunCancelled", description: "The state of a backup, restore or drill after its cancellation." });
export type BackupRunCancelled = z.infer<typeof BackupRunCancelled>;

export const BackupCreated = z
  .object({ uuid: z.string(), message: z.string() })
  .meta({ id: "BackupCreated", description: "A new schedule of backups." });

export const backupExecutionView = (execution: BackupExecutionRecord): BackupExecution => ({
  id: execution.id,
  uuid: execution.uuid,
  scheduled_database_backup_id: execution.scheduled_backup_id,
  status: execution.status,
  message: execution.message,
  size: sizeText(execution),
  filename: execution.filename,
  database_name: execution.database_name,
  local_storage_deleted: execution.local_storage_deleted,
  s3_storage_deleted: execution.s3_storage_deleted,
  s3_uploaded: execution.s3_uploaded,
  step: execution.step,
  written_bytes: execution.written_bytes,
  checksum: execution.sha256,
  duration: durationOf(execution),
  started_at: timestampOrNull(execution.started_at),
  created_at: timestamp(execution.created_at),
  updated_at: timestamp(execution.updated_at),
  finished_at: timestampOrNull(execution.finished_at),
  cancel_requested_at: timestampOrNull(execution.cancel_requested_at),
});

export const backupExecutionSummary = (execution: BackupExecutionRecord): BackupExecutionSummary => ({
  uuid: execution.uuid,
  filename: execution.filename,
  database_name: execution.database_name,
  size: sizeText(execution),
  created_at: offsetTimestamp(execution.created_at),
  message: execution.message,
  status: execution.status,
  duration: durationOf(execution),
});

const durationOf = ({ started_at, finished_at }: BackupExecutionRecord): number | null =>
  started_at === null || finished_at === null ? null : (finished_at.getTime() - started_at.getTime()) / 1000;

const sizeText = ({ size_bytes }: BackupExecutionRecord) => (size_bytes === null ? null : String(size_bytes));

export const backupScheduleView = (schedule: BackupScheduleRecord, engine: DatabaseEngine): BackupSchedule => ({
  id: schedule.id,
  uuid: schedule.uuid,
  description: null,
  team_id: schedule.team_id,
  database_id: schedule.resource_id,
  database_type: databaseType(engine),
  enabled: schedule.enabled,
  frequency: schedule.frequency,
  s3_storage_id: schedule.s3_storage_id,
  s3_storage_uuid: schedule.s3_storage_uuid,
  ...schedule.settings,
  created_at: timestamp(schedule.created_at),
  updated_at: timestamp(schedule.updated_at),
});
