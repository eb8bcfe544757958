import type { BackupSettings } from "../backup/backup.ts";
import type { BackupCopy, BackupPlace } from "../backup/backup-retention.ts";
import type { BackupOutcome, BackupStatus } from "../backup/backup-status.ts";
import type { DumpTarget } from "../database/engine/row.ts";
import type { RunLease, UnrepeatedRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A schedule of a database's backups. */
export interface BackupScheduleRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly resource_id: number;
  readonly team_id: number;
  readonly enabled: boolean;
  /** As its owner wrote it; `cronOf` parses it. */
  readonly frequency: string;
  /** The S3 storage for uploads, if `settings.save_s3` is set. */
  readonly s3_storage_id: number | null;
  readonly s3_storage_uuid: string | null;
  readonly settings: BackupSettings;
  /** Set while a run outside of the schedule is requested and has not begun. */
  readonly requested_at: Date | null;
}
export type BackupScheduleFields = Pick<BackupScheduleRecord, "enabled" | "frequency" | "s3_storage_id" | "settings">;

/** Steps of a backup. */
export const BACKUP_STEPS = ["waiting", "dumping", "uploading", "checking"] as const;
export type BackupStep = (typeof BACKUP_STEPS)[number];

/** Row counts by table: `schema.table`, or the engine's notation. */
export type TableRows = Readonly<Record<string, number>>;

export interface BackupExecutionRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly scheduled_backup_id: number;
  readonly status: BackupStatus;
  /** The problem, or the output of the tools. Never contains secrets. */
  readonly message: string | null;
  readonly size_bytes: number | null;
  /** Path on the server. */
  readonly filename: string | null;
  readonly database_name: string | null;
  readonly finished_at: Date | null;
  /** Set when somebody cancels a running execution; its worker ends it. */
  readonly cancel_requested_at: Date | null;
  readonly local_storage_deleted: boolean;
  readonly s3_storage_deleted: boolean;
  /** `null`: it is not uploaded. */
  readonly s3_uploaded: boolean | null;
  /** `null` while it waits. */
  readonly started_at: Date | null;
  /** `null` after its end. */
  readonly step: BackupStep | null;
  /** Bytes written so far. */
  readonly written_bytes: number | null;
  /** Checksum of the file, in hexadecimal. */
  readonly sha256: string | null;
}

/** Copies of a backup that are left. */
export interface BackupCopies {
  /** `folder` identifies the folder of a control plane. */
  readonly file: { readonly folder: string; readonly filename: string } | null;
  readonly object: { readonly s3_storage_uuid: string; readonly s3_key: string } | null;
}

export interface BackupStore {
  /** Sorted by id. */
  list(resourceId: number, paging?: Paging): Promise<Page<BackupScheduleRecord>>;
  /** Schedules of several databases, sorted by id. */
  listOf(resourceIds: readonly number[]): Promise<readonly BackupScheduleRecord[]>;
  find(resourceId: number, uuid: string): Promise<BackupScheduleRecord | undefined>;
  insert(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord>;
  update(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord | undefined>;
  /** Requests a run outside of the schedule and wakes the workers. */
  request(resourceId: number, uuid: string): Promise<void>;
  /** Also deletes its executions and their files, and with `deleteS3` their objects. */
  delete(resourceId: number, uuid: string, options?: { readonly deleteS3?: boolean }): Promise<boolean>;
  findExecution(scheduleId: number, uuid: string): Promise<BackupExecutionRecord | undefined>;
  /** Newest first. */
  executions(scheduleId: number, paging?: Paging): Promise<Page<BackupExecutionRecord>>;
  copies(scheduleId: number, uuid: string): Promise<BackupCopies | undefined>;
  /** The newest executions of each schedule, newest first. */
  newestExecutions(scheduleIds: readonly number[], take: number): Promise<readonly BackupExecutionRecord[]>;
  /** Also deletes its file, and with `deleteS3` its object. */
  deleteExecution(scheduleId: number, uuid: string, options?: { readonly deleteS3?: boolean }): Promise<boolean>;
  /** Ends a waiting execution, or asks the worker of a running one to end it. Has no effect on an ended one. */
  requestCancel(scheduleId: number, uuid: string, at: Date): Promise<BackupExecutionRecord | undefined>;
  /** The execution when it has ended, or after this time. */
  untilEnded(scheduleId: number, uuid: string, secondsMax: number): Promise<BackupExecutionRecord | undefined>;
}

/** An execution that a worker has claimed, with its database. */
export interface ClaimedBackup {
  readonly execution_uuid: string;
  readonly schedule_id: number;
  readonly schedule_uuid: string;
  readonly frequency: string;
  readonly settings: BackupSettings;
  /** `null`: all databases. */
  readonly target: DumpTarget | null;
  readonly s3_storage_id: number | null;
  readonly s3_storage_uuid: string | null;
  readonly resource_id: number;
  readonly resource_uuid: string;
  readonly team_id: number;
  readonly server_id: number;
  readonly created_at: Date;
}

/** Where its copies will be; they are removed if it fails. */
export interface BackupPlaces {
  readonly folder: string;
  readonly filename: string;
  readonly s3_storage_id: number | null;
  readonly s3_key: string | null;
}

export interface BackupEnd extends Pick<BackupExecutionRecord, "message" | "size_bytes" | "sha256" | "s3_uploaded"> {
  readonly status: BackupOutcome;
  readonly table_rows: TableRows | null;
  /** The file on the server is complete, and stays. */
  readonly keepsFile: boolean;
  readonly finished_at: Date;
}

/** A copy without a record. */
export type BackupRemoval = { readonly id: number } & (
  | { readonly place: "local"; readonly filename: string }
  | { readonly place: "s3"; readonly team_id: number; readonly s3_storage_uuid: string; readonly s3_key: string }
);

/**
 * Store of backups for scheduler and workers, across teams. Executions of a schedule run one at a time, and none runs
 * during a restore of the database.
 */
export interface SystemBackupStore extends UnrepeatedRuns<ClaimedBackup> {
  /**
   * Queues an execution for each database at a due time. While one of the schedule still runs, the due time is
   * recorded as skipped, with an event. `undefined` if the schedule is disabled or being deleted.
   */
  begin(
    scheduleId: number,
    dueAt: Date,
  ): Promise<
    | { readonly uuid: string; readonly name: string; readonly team_id: number; readonly resource_uuid: string }
    | undefined
  >;
  /** Queues requested runs on these servers, unless one of the schedule runs already. Returns their number. */
  beginRequested(serverIds: readonly number[]): Promise<number>;
  /** `false` if the owner has lost it. */
  place(hold: RunLease, places: BackupPlaces): Promise<boolean>;
  progress(hold: RunLease, progress: { readonly step: BackupStep; readonly written_bytes: number }): Promise<void>;
  /** Ends an execution of this owner and writes its event; `false` if the owner has lost it or it has ended already. */
  finish(hold: RunLease, end: BackupEnd): Promise<boolean>;
  /** Existing copies of a schedule in one place. */
  copies(scheduleId: number, place: BackupPlace): Promise<readonly BackupCopy[]>;
  /** Requests the removal of copies of a run that no longer exists. */
  discard(places: BackupPlaces): Promise<void>;
  /** Marks copies for removal by retention, except those being restored; the executions stay and show it. */
  giveUp(uuids: readonly string[], place: BackupPlace): Promise<void>;
  /**
   * Copies to be removed: files of this folder, and objects. A copy is returned again until `removed` is called for
   * it.
   */
  removals(folder: string, take: number): Promise<readonly BackupRemoval[]>;
  removed(id: number): Promise<void>;
  /** Deletes all but the newest executions without copies of each schedule, in batches. Returns their number. */
  prune(kept: number): Promise<number>;
}
