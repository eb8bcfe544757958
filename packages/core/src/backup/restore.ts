import { z } from "zod";
import type { BackupExecutionRecord } from "../ports/backup.ts";
import { RESTORE_KINDS, RESTORE_STEPS, type RestoreKind, type RestoreRecord } from "../ports/restore.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { BACKUP_STATUSES, type BackupOutcome } from "./backup-status.ts";

export const RestoreCreate = z.strictObject({
  target_database_uuid: z
    .string()
    .max(255)
    .optional()
    .describe("The target database, with the same engine. Default: the database of the backup."),
  database_name: z
    .string()
    .max(128, "At most 128 characters.")
    .optional()
    .describe(
      "Existing database inside the target. Default: the one in the backup if the target is the backup's own database, else the target's first one. Not for a backup of all databases.",
    ),
});
export type RestoreCreate = z.infer<typeof RestoreCreate>;

export const Restore = z
  .object({
    uuid: z.string(),
    kind: z.enum(RESTORE_KINDS).describe("A drill restores into a temporary database."),
    scheduled_backup_uuid: z.string(),
    execution_uuid: z.string().describe("The restored backup."),
    target_database_uuid: z.string().nullable().describe("The target database. Null for a drill."),
    database_name: z.string().nullable().describe("Database inside the target. Null for all databases of the backup."),
    status: z.enum(BACKUP_STATUSES),
    step: z.enum(RESTORE_STEPS).nullable().describe("The current step. Null after its end."),
    message: z
      .string()
      .nullable()
      .describe("The problem, the damaged copy, or the state of the database after a cancellation."),
    tables: z
      .array(
        z.object({
          name: z.string(),
          rows: z.int().nullable().describe("Rows after the restore. Null: the table is missing."),
          expected_rows: z.int().nullable().describe("Rows at the time of the backup. Null if unknown."),
        }),
      )
      .nullable()
      .describe("Null until they are counted."),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    cancel_requested_at: Timestamp.nullable(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Restore", description: "A restore or drill of a backup." });
export type Restore = z.infer<typeof Restore>;

export const RestoreRequested = z
  .object({ uuid: z.string(), message: z.string() })
  .meta({ id: "RestoreRequested", description: "A requested restore." });

export const restoreView = ({ kind, target_database_uuid, ...restore }: RestoreRecord): Restore => ({
  uuid: restore.uuid,
  kind,
  scheduled_backup_uuid: restore.scheduled_backup_uuid,
  execution_uuid: restore.execution_uuid,
  target_database_uuid: kind === "drill" ? null : target_database_uuid,
  database_name: restore.database_name,
  status: restore.status,
  step: restore.step,
  message: restore.message,
  tables: restore.tables === null ? null : [...restore.tables],
  started_at: timestampOrNull(restore.started_at),
  finished_at: timestampOrNull(restore.finished_at),
  cancel_requested_at: timestampOrNull(restore.cancel_requested_at),
  created_at: timestamp(restore.created_at),
  updated_at: timestamp(restore.updated_at),
});

type Copies = Pick<
  BackupExecutionRecord,
  "status" | "sha256" | "filename" | "local_storage_deleted" | "s3_uploaded" | "s3_storage_deleted"
>;

/**
 * Why a backup can be neither restored nor downloaded; `undefined` when it can. A backup whose upload failed can be restored from its
 * file.
 */
export function restoreProblem(execution: Copies): string | undefined {
  if (execution.status === "running") return "The backup has not ended yet.";
  const hasFile = execution.filename !== null && !execution.local_storage_deleted;
  const hasObject = execution.s3_uploaded === true && !execution.s3_storage_deleted;
  if (execution.sha256 !== null && (hasFile || hasObject)) return undefined;
  return NOTHING_LEFT[execution.status];
}

const NOTHING_LEFT: Readonly<Record<BackupOutcome, string>> = {
  success: "No copy of the backup is left.",
  failed: "The backup failed: nothing of it was kept.",
  "cancelled-by-user": "The backup was cancelled: nothing of it was kept.",
};

/**
 * How far a cancelled restore has changed the database:
 * - `untouched`: nothing has begun
 * - `undone`: its transaction was rolled back
 * - `either`: unknown, since its transaction was interrupted without an answer
 * - `partial`: changed in part, since it runs without a transaction
 * - `whole`: restored; only the rows were not counted
 */
export type RestoreReach = "untouched" | "undone" | "either" | "partial" | "whole";

/** The message of a cancelled restore. */
export const cancelledRestore = (kind: RestoreKind, reach: RestoreReach): string =>
  `${CANCELLED_BY_USER} ${kind === "drill" ? DRILL_CANCELLED : RESTORE_CANCELLED[reach]}`;

export const CANCELLED_BY_USER = "Cancelled by a user.";
export const CANCELLED_BACKUP = `${CANCELLED_BY_USER} Nothing of it was kept.`;

const DRILL_CANCELLED = "The original database was not changed.";
const RESTORE_CANCELLED: Readonly<Record<RestoreReach, string>> = {
  untouched: "Nothing had been restored yet, so the database is unchanged.",
  undone: "The restore's transaction was rolled back, so the database is unchanged.",
  either:
    "Whether the restore's transaction was committed is unknown: the database is unchanged, or contains all of the backup.",
  partial:
    "The database contains parts of the backup and parts of its earlier data. Restore a backup before you use it.",
  whole: "All of the backup had been restored, and is kept. Only its rows were not counted.",
};
