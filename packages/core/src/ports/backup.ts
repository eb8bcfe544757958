import type { BackupSettings } from "../backup.ts";
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

export const BACKUP_STATUSES = ["running", "success", "failed"] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

export interface BackupExecutionRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly scheduled_backup_id: number;
  readonly status: BackupStatus;
  /** What went wrong, or what the tools said. Never secrets. */
  readonly message: string | null;
  readonly size_bytes: number | null;
  /** On the server. */
  readonly filename: string | null;
  readonly database_name: string | null;
  readonly finished_at: Date | null;
  readonly local_storage_deleted: boolean;
  readonly s3_storage_deleted: boolean;
  /** `null` when it is not sent there. */
  readonly s3_uploaded: boolean | null;
}

export interface BackupStore {
  /** By id. */
  list(resourceId: number, paging?: Paging): Promise<Page<BackupScheduleRecord>>;
  /** Of several databases, by id. */
  listOf(resourceIds: readonly number[]): Promise<readonly BackupScheduleRecord[]>;
  find(resourceId: number, uuid: string): Promise<BackupScheduleRecord | undefined>;
  insert(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord>;
  update(resourceId: number, uuid: string, fields: BackupScheduleFields): Promise<BackupScheduleRecord | undefined>;
  /** Asks for a run beside the schedule and wakes the workers. */
  request(resourceId: number, uuid: string): Promise<void>;
  /** Its executions go with it. */
  delete(resourceId: number, uuid: string): Promise<boolean>;
  /** Newest first. */
  executions(scheduleId: number, paging?: Paging): Promise<Page<BackupExecutionRecord>>;
  /** The newest of each of these schedules, newest first. */
  newestExecutions(scheduleIds: readonly number[], take: number): Promise<readonly BackupExecutionRecord[]>;
  deleteExecution(scheduleId: number, uuid: string): Promise<boolean>;
}

/** What whoever runs backups reads and writes, across teams. */
export interface SystemBackupStore {
  /** Schedules of databases on these servers that a run was asked of, oldest first. */
  listRequested(serverIds: readonly number[]): Promise<readonly BackupScheduleRecord[]>;
  /** A run begins: what was asked for is answered by it. `undefined` when the schedule was deleted meanwhile. */
  startExecution(
    scheduleId: number,
    execution: { readonly uuid: string; readonly database_name: string | null },
  ): Promise<BackupExecutionRecord | undefined>;
  /** Only of one that runs: what has ended never changes again. `false` otherwise. */
  finishExecution(
    uuid: string,
    end: Pick<BackupExecutionRecord, "message" | "size_bytes" | "filename" | "s3_uploaded"> & {
      readonly status: Exclude<BackupStatus, "running">;
      readonly finished_at: Date;
    },
  ): Promise<boolean>;
}
