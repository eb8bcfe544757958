import type { BackupSettings } from "./backup.ts";

/** A copy of a backup in one place: on the server, or in an S3 storage. */
export interface BackupCopy {
  readonly uuid: string;
  /** The database that was saved; `null` for all of them. Retention counts each separately. */
  readonly databaseName: string | null;
  readonly createdAt: Date;
  readonly sizeBytes: number;
  /** It can be restored. */
  readonly isSuccess: boolean;
}

/** How long copies are kept in one place. 0 keeps all. */
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
 * The copies that go: those that any of the rules gives up. Of each database the newest that can be restored stays,
 * whatever the rules say, so that a schedule that fails for long does not end with nothing. One that failed is kept as
 * long as it is newer than that.
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

/** Only those that can be restored are counted: failed ones would push them out. */
function beyondAmount(newestFirst: readonly BackupCopy[], amount: number): readonly BackupCopy[] {
  if (amount === 0) return [];
  const last = newestFirst.filter(({ isSuccess }) => isSuccess)[amount - 1];
  return last === undefined ? [] : newestFirst.slice(newestFirst.indexOf(last) + 1);
}

const olderThan = (copies: readonly BackupCopy[], days: number, now: Date): readonly BackupCopy[] =>
  days === 0 ? [] : copies.filter(({ createdAt }) => now.getTime() - createdAt.getTime() > days * DAY_MS);

/** The oldest first, until what stays fits. */
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
