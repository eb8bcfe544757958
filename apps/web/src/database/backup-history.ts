import type { Outputs } from "../api/client.ts";

export type SavedBackup = Outputs["databases"]["backups"]["executions"]["executions"][number];

/** Backups that have ended, the oldest first, as charts show them. */
export interface BackupHistory {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** Bytes; null for those that failed. */
  readonly sizes: readonly (number | null)[];
  /** Null for those that failed. */
  readonly durationsMs: readonly (number | null)[];
  readonly failures: readonly boolean[];
}

/** Without those that run or were cancelled: they say nothing about the database. */
export function historyOf(backups: readonly SavedBackup[]): BackupHistory {
  const ended = backups
    .filter(({ status }) => status === "success" || status === "failed")
    .toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
  const ofGood = (value: (backup: SavedBackup) => number | null) =>
    ended.map((backup) => (backup.status === "success" ? value(backup) : null));
  return {
    times: ended.map(({ created_at }) => Date.parse(created_at) / 1000),
    sizes: ofGood(({ size }) => (size === null ? null : Number(size))),
    durationsMs: ofGood(({ duration }) => (duration === null ? null : duration * 1000)),
    failures: ended.map(({ status }) => status === "failed"),
  };
}
