import type { Actor } from "./permission.ts";

/** Events are written in the transaction of the change. */
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
  "resource.drifted",
  "resource.scaled",
  "resource.scale_failed",
  "resource.autoscaled",
  "resource.restart_limit_reached",
  "resource.certificate_expiring",
  "resource.certificate_changed",
  "server.removing",
  "server.deleted",
  "server.validated",
  "server.host_key_recorded",
  "server.reachable",
  "server.unreachable",
  "server.disk_usage_high",
  "server.proxy_status_changed",
  "server.node_changed",
  "terminal.opened",
  "terminal.closed",
  "job.queued",
  "job.in_progress",
  "job.progressed",
  "job.finished",
  "job.failed",
  "notification.delivered",
  "notification.delayed",
  "notification.failed",
  "preview.created",
  "preview.removing",
  "preview.deleted",
  "preview.status_changed",
  "schedule.missed",
  "scheduled_task.finished",
  "scheduled_task.failed",
  "scheduled_task.skipped",
  "scheduler.stalled",
  "backup.finished",
  "backup.failed",
  "backup.skipped",
  "backup.cancel_requested",
  "backup.cancelled",
  "restore.finished",
  "restore.failed",
  "restore.cancel_requested",
  "restore.cancelled",
  "drill.finished",
  "drill.failed",
  "drill.cancel_requested",
  "drill.cancelled",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Stored identity of the actor of an event. */
export interface EventActor {
  readonly type: "session" | "token" | "system";
  readonly name: string;
  readonly user_id: number | null;
}

export function eventActor(actor: Actor): EventActor {
  if (actor.type === "system") return { type: "system", name: actor.name, user_id: null };
  return { type: actor.session === undefined ? "token" : "session", name: actor.name, user_id: actor.userId };
}
