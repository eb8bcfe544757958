/** What is written to the event log in the same transaction as the change itself. */
export const EVENT_TYPES = [
  "deployment.queued",
  "deployment.started",
  "deployment.cancel_requested",
  "deployment.finished",
  "deployment.failed",
  "deployment.cancelled",
  "resource.created",
  "resource.removing",
  "resource.deleted",
  "resource.status_changed",
  "preview.created",
  "preview.removing",
  "preview.deleted",
  "preview.status_changed",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
