import { statesOf, type Transitions } from "../deploy/transitions.ts";

/** Of a backup, a restore and a drill. One that waits is `running` too, with the step `waiting`. */
export const BACKUP_STATUSES = ["running", "success", "failed", "cancelled-by-user"] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

const BACKUP_TRANSITIONS = {
  running: ["success", "failed", "cancelled-by-user"],
  success: [],
  failed: [],
  "cancelled-by-user": [],
} as const satisfies Transitions<BackupStatus>;

export const backupStates = statesOf<BackupStatus>(BACKUP_TRANSITIONS);

/** What it may end as. */
export type BackupOutcome = Exclude<BackupStatus, "running">;
