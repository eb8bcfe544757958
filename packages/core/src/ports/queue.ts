import type { JobType } from "../server/job-status.ts";

/** A queue of work in the database. Deployments have a queue of their own, with its own notifications. */
export type QueueName = JobType | "scheduled_task" | "requested_backup" | "backup" | "restore";

/** Lets workers poll all queues at once, instead of each of them every few seconds. */
export interface SystemQueueStore {
  /** Queues with runs that have not ended, on any server: waiting, running or abandoned. */
  busy(): Promise<ReadonlySet<QueueName>>;
}
