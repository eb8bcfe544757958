import type { BackupOutcome, BackupStatus } from "../backup/backup-status.ts";
import type { DumpTarget } from "../database/engine/row.ts";
import type { TableRows } from "./backup.ts";
import type { RunLease, UnrepeatedRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A drill restores into a database that exists for that only, and counts what it finds. */
export const RESTORE_KINDS = ["restore", "drill"] as const;
export type RestoreKind = (typeof RESTORE_KINDS)[number];

export const RESTORE_STEPS = ["waiting", "checking", "starting", "restoring", "counting"] as const;
export type RestoreStep = (typeof RESTORE_STEPS)[number];

export interface RestoredTable {
  readonly name: string;
  /** `null`: the table is missing. */
  readonly rows: number | null;
  /** When it was saved; `null` where that is not known, since the table was being written to. */
  readonly expected_rows: number | null;
}

/** A backup that is restored, or tried. */
export interface RestoreRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly kind: RestoreKind;
  readonly execution_uuid: string;
  readonly scheduled_backup_uuid: string;
  /** Target of the restore; for a drill, the saved database. */
  readonly target_database_uuid: string;
  /** Inside of it; `null` for all that was saved. */
  readonly database_name: string | null;
  readonly status: BackupStatus;
  readonly step: RestoreStep | null;
  /** The problem. Never secrets. */
  readonly message: string | null;
  /** Row counts after the restore. */
  readonly tables: readonly RestoredTable[] | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  /** Set when somebody asked to cancel one that a worker runs, which ends it. */
  readonly cancel_requested_at: Date | null;
}

export interface NewRestore extends Pick<RestoreRecord, "uuid" | "kind" | "database_name"> {
  readonly backup_execution_id: number;
  readonly resource_id: number;
  readonly target_resource_id: number;
}

export interface RestoreStore {
  /** Whether a backup of this schedule is being restored or tried; with `executionUuid`, whether that one is. */
  isRunning(scheduleId: number, executionUuid?: string): Promise<boolean>;
  /** Restores of a database's backups, newest first. */
  list(resourceId: number, paging?: Paging): Promise<Page<RestoreRecord>>;
  find(resourceId: number, uuid: string): Promise<RestoreRecord | undefined>;
  /** Wakes the workers. `undefined` while another of the kind runs for the same target. */
  insert(restore: NewRestore): Promise<RestoreRecord | undefined>;
  /** Ends one that waits; has the worker that runs one end it. Nothing comes of it once it has ended. */
  requestCancel(resourceId: number, uuid: string, at: Date): Promise<RestoreRecord | undefined>;
  /** How it is once it has ended, or after this time. */
  untilEnded(resourceId: number, uuid: string, secondsMax: number): Promise<RestoreRecord | undefined>;
}

/** A restore that a worker has taken, with what it is made from. */
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
  /** The saved database; `null` for all. */
  readonly saved: DumpTarget | null;
  readonly sha256: string | null;
  readonly size_bytes: number | null;
  readonly table_rows: TableRows | null;
  /** Where the file is; `null` when it is gone. */
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
  /** Only of one that the owner runs: what has ended never changes again. `false` otherwise. Writes its event. */
  finish(hold: RunLease, end: RestoreEnd): Promise<boolean>;
  /** Drills that run: the deployments that their databases go by. */
  runningDrills(): Promise<readonly string[]>;
  /** Forgets all but the newest of each database, some at a time. Answers how many. */
  prune(kept: number): Promise<number>;
}
