import type { Outputs } from "../api/client.ts";

export type SavedBackup = Outputs["databases"]["backups"]["executions"]["executions"][number];

/** Backups of one database that have ended, the oldest first, as charts show them. */
export interface BackupHistory {
  /** Null where one backup contains all that the server has. */
  readonly database: string | null;
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** Bytes; null for those that failed. */
  readonly sizes: readonly (number | null)[];
  /** Null for those that failed. */
  readonly durationsMs: readonly (number | null)[];
  readonly failures: readonly boolean[];
}

/**
 * By database, since a schedule may save several. Without backups that run or were cancelled: they say nothing about the
 * database.
 */
export function historiesOf(backups: readonly SavedBackup[]): readonly BackupHistory[] {
  const ended = backups
    .filter(({ status }) => status === "success" || status === "failed")
    .toSorted((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
  const byDatabase = Map.groupBy(ended, ({ database_name }) => database_name);
  return [...byDatabase].map(([database, own]) => historyOf(database, own));
}

function historyOf(database: string | null, ended: readonly SavedBackup[]): BackupHistory {
  const ofGood = (value: (backup: SavedBackup) => number | null) =>
    ended.map((backup) => (backup.status === "success" ? value(backup) : null));
  return {
    database,
    times: ended.map(({ created_at }) => Date.parse(created_at) / 1000),
    sizes: ofGood(({ size }) => (size === null ? null : Number(size))),
    durationsMs: ofGood(({ duration }) => (duration === null ? null : duration * 1000)),
    failures: ended.map(({ status }) => status === "failed"),
  };
}
