import type { ScheduleKind, TaskExecutionStatus } from "@berth/core/ports";
import type { Generated } from "kysely";
import type { Timestamps } from "./column.ts";

export interface ScheduledTaskTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  name: string;
  command: string;
  frequency: string;
  container: string | null;
  timeout: number;
  enabled: boolean;
}

export interface ScheduledTaskExecutionTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  scheduled_task_id: number;
  status: Generated<TaskExecutionStatus>;
  message: string | null;
  error_details: string | null;
  exit_code: number | null;
  retry_count: number;
  due_at: Date | null;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  started_at: Date;
  finished_at: Date | null;
}

/** Kept by triggers, like `resource_count`. */
export interface ScheduledTaskExecutionCountTable {
  scheduled_task_id: number;
  total: number;
}

/** Kept by triggers: a row for each enabled subject with a frequency. */
export interface ScheduleTable {
  kind: ScheduleKind;
  subject_id: number;
  server_id: number;
  frequency: string;
  revision: Generated<number>;
  changed_at: Generated<Date>;
  is_planned: Generated<boolean>;
  due_at: Generated<Date>;
}

/** A single row: when a scheduler last worked. */
export interface SchedulerTable {
  id: number;
  looked_at: Date;
  is_stall_told: boolean;
}
