import { statesOf, type Transitions } from "../deploy/transitions.ts";

/** Statuses of backups, restores and drills. A waiting one is `running`, with the step `waiting`. */
export const BACKUP_STATUSES = ["running", "success", "failed", "cancelled-by-user"] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

const BACKUP_TRANSITIONS = {
  running: ["success", "failed", "cancelled-by-user"],
  success: [],
  failed: [],
  "cancelled-by-user": [],
} as const satisfies Transitions<BackupStatus>;

export const backupStates = statesOf<BackupStatus>(BACKUP_TRANSITIONS);

/** Whether a backup, restore or drill has ended. */
export const isBackupRunOver = ({ status }: { readonly status: BackupStatus }): boolean =>
  backupStates.isTerminal(status);

/** The final statuses. */
export type BackupOutcome = Exclude<BackupStatus, "running">;
