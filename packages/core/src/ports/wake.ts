/** What may have changed when workers are woken. Each loop waits only for the topics that it works on. */
export const WAKE_TOPICS = [
  "deployment",
  "job",
  "scheduled_task",
  "backup",
  /** Deliveries of notifications that wait. */
  "notification",
  /** The wanted state of a resource, or an ended deployment whose previous release is to be removed. */
  "resource",
  /** Resources that are to be removed, or were. */
  "removal",
  "server",
  /** Anything recorded of a resource: what was read is read again. */
  "record",
] as const;

export type WakeTopic = (typeof WAKE_TOPICS)[number];
