import type { BackupSettings, BackupStatus } from "@berth/core/backup";
import type { DumpTarget } from "@berth/core/database";
import type { BackupStep, RestoredTable, RestoreKind, RestoreStep, TableRows } from "@berth/core/ports";
import type { Generated } from "kysely";
import type { Json, NullableJson, Timestamps } from "./column.ts";

export interface S3StorageTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  endpoint: string;
  bucket: string;
  region: string;
  is_usable: boolean;
  credentials: Uint8Array;
}

export interface ScheduledBackupTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  enabled: boolean;
  frequency: string;
  s3_storage_id: number | null;
  settings: Json<Partial<BackupSettings>>;
  requested_at: Date | null;
}

export interface BackupExecutionTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  scheduled_backup_id: number;
  status: Generated<BackupStatus>;
  message: string | null;
  size_bytes: number | null;
  filename: string | null;
  database_name: string | null;
  local_storage_deleted: Generated<boolean>;
  s3_storage_deleted: Generated<boolean>;
  s3_uploaded: boolean | null;
  finished_at: Date | null;
  cancel_requested_at: Date | null;
  target: NullableJson<DumpTarget>;
  due_at: Date | null;
  started_at: Date | null;
  step: BackupStep | null;
  written_bytes: number | null;
  sha256: string | null;
  table_rows: NullableJson<TableRows>;
  /** Identifies the folder that contains the file. */
  folder: string | null;
  s3_storage_id: number | null;
  s3_key: string | null;
  /** Its object is to be deleted too. */
  is_s3_going: Generated<boolean>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
}

/** Copies of deleted backups, to be removed. */
export interface BackupRemovalTable {
  id: Generated<number>;
  folder: string | null;
  filename: string | null;
  s3_storage_id: number | null;
  s3_key: string | null;
  attempts: Generated<number>;
  not_before: Generated<Date>;
}

export interface BackupRestoreTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  kind: RestoreKind;
  backup_execution_id: number;
  resource_id: number;
  target_resource_id: number;
  database_name: string | null;
  status: Generated<BackupStatus>;
  step: RestoreStep | null;
  message: string | null;
  tables: NullableJson<readonly RestoredTable[]>;
  started_at: Date | null;
  finished_at: Date | null;
  cancel_requested_at: Date | null;
  lease_owner: string | null;
  lease_expires_at: Date | null;
}

/** Kept by triggers, like `resource_count`. */
export interface BackupExecutionCountTable {
  scheduled_backup_id: number;
  total: number;
}
