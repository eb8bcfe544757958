import type { JobType } from "../server/job-status.ts";

/** Work that waits in the database until a worker takes it. */
export type QueueName =
  | JobType
  | "deployment"
  | "scheduled_task"
  | "requested_backup"
  | "backup"
  | "backup_removal"
  | "restore";

/** For workers, which would otherwise ask each queue by itself every few seconds and mostly find nothing. */
export interface SystemQueueStore {
  /** Queues with runs that have not ended, on any server: waiting, running or abandoned. Removals count once due. */
  busy(): Promise<ReadonlySet<QueueName>>;
}
