import type { BackupSettings } from "./backup.ts";

/** A copy of a backup on the server or in an S3 storage. */
export interface BackupCopy {
  readonly uuid: string;
  /** The database in the dump; `null` for all databases. Retention counts each database separately. */
  readonly databaseName: string | null;
  readonly createdAt: Date;
  readonly sizeBytes: number;
  /** The copy can be restored. */
  readonly isSuccess: boolean;
}

/** How long copies are kept in one place. 0 means no limit. */
export interface RetentionRule {
  readonly amount: number;
  readonly days: number;
  readonly maxStorageGigabytes: number;
}

export const BACKUP_PLACES = ["local", "s3"] as const;
export type BackupPlace = (typeof BACKUP_PLACES)[number];

export const retentionRule = (settings: BackupSettings, place: BackupPlace): RetentionRule =>
  place === "local"
    ? {
        amount: settings.database_backup_retention_amount_locally,
        days: settings.database_backup_retention_days_locally,
        maxStorageGigabytes: settings.database_backup_retention_max_storage_locally,
      }
    : {
        amount: settings.database_backup_retention_amount_s3,
        days: settings.database_backup_retention_days_s3,
        maxStorageGigabytes: settings.database_backup_retention_max_storage_s3,
      };

/**
 * The copies to delete: those that any rule gives up, except the newest restorable copy of each database, so that a
 * schedule that keeps failing does not delete the last good one. Failed copies that are newer than that one are kept.
 */
export function expiredCopies(copies: readonly BackupCopy[], rule: RetentionRule, now: Date): readonly BackupCopy[] {
  const newestFirst = [...copies].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || compare(b, a));
  const byDatabase = [...Map.groupBy(newestFirst, ({ databaseName }) => databaseName).values()];
  const kept = new Set(byDatabase.map((own) => own.find(({ isSuccess }) => isSuccess)));
  const going = new Set([
    ...byDatabase.flatMap((own) => beyondAmount(own, rule.amount)),
    ...olderThan(newestFirst, rule.days, now),
  ]);
  const staying = newestFirst.filter((copy) => kept.has(copy) || !going.has(copy));
  for (const copy of beyondSize(staying, kept, rule.maxStorageGigabytes)) going.add(copy);
  return newestFirst.filter((copy) => going.has(copy) && !kept.has(copy));
}

const compare = (a: BackupCopy, b: BackupCopy): number => (a.uuid < b.uuid ? -1 : Number(a.uuid > b.uuid));

/** Counts only restorable copies, so that failed ones do not push them out. */
function beyondAmount(newestFirst: readonly BackupCopy[], amount: number): readonly BackupCopy[] {
  if (amount === 0) return [];
  const last = newestFirst.filter(({ isSuccess }) => isSuccess)[amount - 1];
  return last === undefined ? [] : newestFirst.slice(newestFirst.indexOf(last) + 1);
}

const olderThan = (copies: readonly BackupCopy[], days: number, now: Date): readonly BackupCopy[] =>
  days === 0 ? [] : copies.filter(({ createdAt }) => now.getTime() - createdAt.getTime() > days * DAY_MS);

/** Deletes the oldest copies first, until the rest fits. */
function beyondSize(
  newestFirst: readonly BackupCopy[],
  kept: ReadonlySet<BackupCopy | undefined>,
  gigabytes: number,
): readonly BackupCopy[] {
  if (gigabytes === 0) return [];
  let over = newestFirst.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) - gigabytes * GIGABYTE;
  const going: BackupCopy[] = [];
  for (const copy of newestFirst.toReversed()) {
    if (over <= 0) break;
    if (kept.has(copy)) continue;
    going.push(copy);
    over -= copy.sizeBytes;
  }
  return going;
}

const DAY_MS = 86_400_000;
const GIGABYTE = 1024 ** 3;
