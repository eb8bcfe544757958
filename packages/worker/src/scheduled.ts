import type { ScheduleKind } from "@berth/core/ports";
import { scheduledBackup } from "./backup/runner.ts";
import { scheduledTask } from "./scheduled-task.ts";
import type { ScheduledKind } from "./scheduler.ts";

/** Kinds of work that are started on a schedule. `docs/scheduler.md` explains how to add one. */
export const SCHEDULED: Readonly<Partial<Record<ScheduleKind, ScheduledKind>>> = {
  scheduled_task: scheduledTask,
  backup: scheduledBackup,
};
