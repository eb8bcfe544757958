import type { BackupSettings } from "../backup/backup.ts";
import type { BackupCopy, BackupPlace } from "../backup/backup-retention.ts";
import type { BackupOutcome, BackupStatus } from "../backup/backup-status.ts";
import type { DumpTarget } from "../database/engine/row.ts";
import type { RunLease, UnrepeatedRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** When and how a database is saved. */
export interface BackupScheduleRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly resource_id: number;
  readonly team_id: number;
  readonly enabled: boolean;
  /** As its owner wrote it: `cronOf` reads it. */
  readonly frequency: string;
  /** Where it is sent, with `settings.save_s3`. */
  readonly s3_storage_id: number | null;
  readonly s3_storage_uuid: string | null;
  readonly settings: BackupSettings;
  /** Set while a run beside the schedule was asked for and has not begun. */
  readonly requested_at: Date | null;
}
export type BackupScheduleFields = Pick<BackupScheduleRecord, "enabled" | "frequency" | "s3_storage_id" | "settings">;

/** Steps of a backup. */
export const BACKUP_STEPS = ["waiting", "dumping", "uploading", "checking"] as const;
export type BackupStep = (typeof BACKUP_STEPS)[number];

/** Rows by table, `schema.table` or whatever the engine calls it. */
export type TableRows = Readonly<Record<string, number>>;

export interface BackupExecutionRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly scheduled_backup_id: number;
  readonly status: BackupStatus;
  /** The problem, or the output of the tools. Never secrets. */
  readonly message: string | null;
  readonly size_bytes: number | null;
  /** On the server. */
  readonly filename: string | null;
  readonly database_name: string | null;
  readonly finished_at: Date | null;
  /** Set when somebody asked to cancel one that a worker runs, which ends it. */
  readonly cancel_requested_at: Date | null;
  readonly local_storage_deleted: boolean;
  readonly s3_storage_deleted: boolean;
  /** `null` when it is not sent there. */
  readonly s3_uploaded: boolean | null;
  /** `null` while it waits. */
  readonly started_at: Date | null;
  /** `null` once it has ended. */
  readonly step: BackupStep | null;
  /** So far. */
  readonly written_bytes: number | null;
  /** Checksum of the file, in hexadecimal. */
  readonly sha256: string | null;
}

export interface BackupStore {
  /** By id. */
  list(resourceId: number, paging?: Paging): Promise<Page<BackupScheduleRecord>>;
  /** Schedules of several databases, by id. */
  listOf(resourceIds: readonly number[]): Promise<readonly BackupScheduleRecord[]>;
  find(resourceId: number, uuid: string): Promise<BackupScheduleRecord | undefined>;
  insert(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord>;
  update(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord | undefined>;
  /** Asks for a run beside the schedule and wakes the workers. */
  request(resourceId: number, uuid: string): Promise<void>;
  /** Its executions go with it, their files too, and with `deleteS3` their objects. */
  delete(resourceId: number, uuid: string, options?: { readonly deleteS3?: boolean }): Promise<boolean>;
  findExecution(scheduleId: number, uuid: string): Promise<BackupExecutionRecord | undefined>;
  /** Newest first. */
  executions(scheduleId: number, paging?: Paging): Promise<Page<BackupExecutionRecord>>;
  /** The newest of each of these schedules, newest first. */
  newestExecutions(scheduleIds: readonly number[], take: number): Promise<readonly BackupExecutionRecord[]>;
  /** Its file goes too, and with `deleteS3` its object. */
  deleteExecution(scheduleId: number, uuid: string, options?: { readonly deleteS3?: boolean }): Promise<boolean>;
  /** Ends one that waits; has the worker that runs one end it. Nothing comes of it once it has ended. */
  requestCancel(scheduleId: number, uuid: string, at: Date): Promise<BackupExecutionRecord | undefined>;
  /** How it is once it has ended, or after this time. */
  untilEnded(scheduleId: number, uuid: string, secondsMax: number): Promise<BackupExecutionRecord | undefined>;
}

/** An execution that a worker has taken, with what it saves. */
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

/** Where its copies will be; what is written there goes when it fails. */
export interface BackupPlaces {
  readonly folder: string;
  readonly filename: string;
  readonly s3_storage_id: number | null;
  readonly s3_key: string | null;
}

export interface BackupEnd extends Pick<BackupExecutionRecord, "message" | "size_bytes" | "sha256" | "s3_uploaded"> {
  readonly status: BackupOutcome;
  readonly table_rows: TableRows | null;
  /** The file on the server is whole, and stays. */
  readonly keepsFile: boolean;
  readonly finished_at: Date;
}

/** A copy that nobody knows any more. */
export type BackupRemoval = { readonly id: number } & (
  | { readonly place: "local"; readonly filename: string }
  | { readonly place: "s3"; readonly team_id: number; readonly s3_storage_uuid: string; readonly s3_key: string }
);

/**
 * Store of backups for scheduler and workers, across teams. Of a schedule one execution runs at a time, and none of a
 * database that is being restored.
 */
export interface SystemBackupStore extends UnrepeatedRuns<ClaimedBackup> {
  /**
   * Queues a run for a due time: an execution for each database. While one of the schedule runs, the due time is
   * written down as skipped, and an event reports it. `undefined` when the schedule is disabled or goes.
   */
  begin(
    scheduleId: number,
    dueAt: Date,
  ): Promise<
    | { readonly uuid: string; readonly name: string; readonly team_id: number; readonly resource_uuid: string }
    | undefined
  >;
  /** Queues what was asked for beside the schedules of these servers, where none of the schedule runs. Answers how many. */
  beginRequested(serverIds: readonly number[]): Promise<number>;
  /** `false` when it is not the owner's any more. */
  place(hold: RunLease, places: BackupPlaces): Promise<boolean>;
  progress(hold: RunLease, progress: { readonly step: BackupStep; readonly written_bytes: number }): Promise<void>;
  /** Only of one that the owner runs: what has ended never changes again. `false` otherwise. Writes its event. */
  finish(hold: RunLease, end: BackupEnd): Promise<boolean>;
  /** Copies of a schedule that are kept in one place. */
  copies(scheduleId: number, place: BackupPlace): Promise<readonly BackupCopy[]>;
  /** Has removed what was written there by a run that is not known any more. */
  discard(places: BackupPlaces): Promise<void>;
  /** Copies that go by the rules of their schedule, unless they are being restored; the executions stay and say so. */
  giveUp(uuids: readonly string[], place: BackupPlace): Promise<void>;
  /** Copies to be removed: files of this folder, and objects. Each is answered again later unless it is `removed`. */
  removals(folder: string, take: number): Promise<readonly BackupRemoval[]>;
  removed(id: number): Promise<void>;
  /** Forgets all but the newest executions of each schedule that have no copy, some at a time. Answers how many. */
  prune(kept: number): Promise<number>;
}
