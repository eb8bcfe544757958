import type { BackupOutcome, BackupStatus } from "../backup/backup-status.ts";
import type { DumpTarget } from "../database/engine/row.ts";
import type { TableRows } from "./backup.ts";
import type { RunLease, UnrepeatedRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A drill restores into a temporary database, and counts its rows. */
export const RESTORE_KINDS = ["restore", "drill"] as const;
export type RestoreKind = (typeof RESTORE_KINDS)[number];

export const RESTORE_STEPS = ["waiting", "checking", "starting", "restoring", "counting"] as const;
export type RestoreStep = (typeof RESTORE_STEPS)[number];

export interface RestoredTable {
  readonly name: string;
  /** `null`: the table is missing. */
  readonly rows: number | null;
  /** At the time of the backup; `null` if unknown, since the table was being written to. */
  readonly expected_rows: number | null;
}

/** A restore or drill of a backup. */
export interface RestoreRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly kind: RestoreKind;
  readonly execution_uuid: string;
  readonly scheduled_backup_uuid: string;
  /** Target of the restore; for a drill, the database of the backup. */
  readonly target_database_uuid: string;
  /** Database inside the target; `null` for all of them. */
  readonly database_name: string | null;
  readonly status: BackupStatus;
  readonly step: RestoreStep | null;
  /** The problem. Never contains secrets. */
  readonly message: string | null;
  /** Row counts after the restore. */
  readonly tables: readonly RestoredTable[] | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  /** Set when somebody cancels a running restore; its worker ends it. */
  readonly cancel_requested_at: Date | null;
}

export interface NewRestore extends Pick<RestoreRecord, "uuid" | "kind" | "database_name"> {
  readonly backup_execution_id: number;
  readonly resource_id: number;
  readonly target_resource_id: number;
}

/** The result of the newest drill of a database's backups that ended by itself. */
export interface LastDrill extends Pick<RestoreRecord, "message"> {
  readonly resource_id: number;
  readonly status: Exclude<BackupOutcome, "cancelled-by-user">;
  readonly finished_at: Date;
}

export interface RestoreStore {
  /** The last drill of each of these databases that had one. */
  lastDrills(resourceIds: readonly number[]): Promise<readonly LastDrill[]>;
  /** When the oldest successful backup of each of these databases was made; missing without one. */
  oldestBackups(resourceIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
  /** Whether a restore or drill of a backup of this schedule is running; with `executionUuid`, of this backup. */
  isRunning(scheduleId: number, executionUuid?: string): Promise<boolean>;
  /** Restores of a database's backups, newest first. */
  list(resourceId: number, paging?: Paging): Promise<Page<RestoreRecord>>;
  find(resourceId: number, uuid: string): Promise<RestoreRecord | undefined>;
  /** Wakes the workers. `undefined` if another one of its kind runs for the same target. */
  insert(restore: NewRestore): Promise<RestoreRecord | undefined>;
  /** Ends a waiting restore, or asks the worker of a running one to end it. Has no effect on an ended one. */
  requestCancel(resourceId: number, uuid: string, at: Date): Promise<RestoreRecord | undefined>;
  /** The restore when it has ended, or after this time. */
  untilEnded(resourceId: number, uuid: string, secondsMax: number): Promise<RestoreRecord | undefined>;
}

/** A restore that a worker has claimed, with its backup. */
export interface ClaimedRestore {
  readonly uuid: string;
  readonly kind: RestoreKind;
  readonly database_name: string | null;
  readonly resource_uuid: string;
  readonly target_resource_id: number;
  readonly target_database_uuid: string;
  readonly team_id: number;
  readonly server_id: number;
  /** Seconds. */
  readonly timeout: number;
  /** The database in the dump; `null` for all. */
  readonly saved: DumpTarget | null;
  readonly sha256: string | null;
  readonly size_bytes: number | null;
  readonly table_rows: TableRows | null;
  /** The backup's file; `null` if it was deleted. */
  readonly file: { readonly folder: string; readonly filename: string } | null;
  readonly object: { readonly s3_storage_uuid: string; readonly s3_key: string } | null;
}

export interface RestoreEnd extends Pick<RestoreRecord, "message" | "tables"> {
  readonly status: BackupOutcome;
  readonly finished_at: Date;
}

/** Store of restores for workers, across teams. */
export interface SystemRestoreStore extends UnrepeatedRuns<ClaimedRestore> {
  progress(hold: RunLease, step: RestoreStep): Promise<void>;
  /** Ends a restore of this owner and writes its event; `false` if the owner has lost it or it has ended already. */
  finish(hold: RunLease, end: RestoreEnd): Promise<boolean>;
  /** Deletes all but the newest restores of each database, in batches. Returns their number. */
  prune(kept: number): Promise<number>;
}
