import type { JobType } from "../server/job-status.ts";

/** Work that waits in the database until a worker takes it. */
export type QueueName =
  | JobType
  | "deployment"
  | "scheduled_task"
  | "requested_backup"
  | "backup"
  | "backup_removal"
  | "restore"
  | "notification";

/** Lets workers poll all queues at once, instead of each of them every few seconds. */
export interface SystemQueueStore {
  /** Queues with runs that have not ended, on any server: waiting, running or abandoned. Removals and notifications count once due. */
  busy(): Promise<ReadonlySet<QueueName>>;
}
