import { z } from "zod";
import { type DatabaseEngine, databaseEngine, engineValues } from "../database/database-engine.ts";
import type { DumpTarget } from "../database/engine/row.ts";
import type { FieldErrors } from "../errors.ts";
import { inputShape, lenient, sentFields } from "../input.ts";
import { Frequency } from "../schedule/cron.ts";

/** Limit of schedules per database. */
export const BACKUPS_MAX = 100;

const count = (about: string) => z.int().min(0).default(0).describe(`${about} 0: no limit.`);
const gigabytes = (about: string) => z.number().min(0).default(0).describe(`${about} 0: no limit.`);

/** Settings of a schedule that no query filters by, stored as one value. */
export const BackupSettings = z.object({
  save_s3: z.boolean().default(false).describe("Upload backups to the S3 storage."),
  disable_local_backup: z.boolean().default(false).describe("Keep backups only in the S3 storage."),
  dump_all: z.boolean().default(false).describe("Back up all databases instead of the named ones."),
  databases_to_backup: z
    .string()
    .max(10_000, "At most 10000 characters.")
    .nullable()
    .default(null)
    .describe("Names separated by commas; for MongoDB `db:collection,collection|db` with collections to leave out."),
  database_backup_retention_amount_locally: count("Backups kept on the server."),
  database_backup_retention_days_locally: count("Days that backups are kept on the server."),
  database_backup_retention_max_storage_locally: gigabytes("Gigabytes of backups kept on the server."),
  database_backup_retention_amount_s3: count("Backups kept in the S3 storage."),
  database_backup_retention_days_s3: count("Days that backups are kept in the S3 storage."),
  database_backup_retention_max_storage_s3: gigabytes("Gigabytes of backups kept in the S3 storage."),
  timeout: z.int().min(60).max(36_000).default(3600).describe("Time limit of a backup, in seconds."),
});
export type BackupSettings = z.infer<typeof BackupSettings>;

export const BACKUP_DEFAULTS = BackupSettings.parse({});

const { save_s3: _saveS3, ...SETTINGS } = BackupSettings.shape;

const OPTIONAL = {
  enabled: lenient(z.boolean()).optional().describe("Whether the schedule is enabled. Default true."),
  save_s3: lenient(z.boolean())
    .optional()
    .describe(
      "Upload backups to the S3 storage, which is then required. Default of a new schedule: whether a storage is named.",
    ),
  s3_storage_uuid: lenient(z.string().max(255).nullable()).optional().describe("S3 storage of the team."),
  backup_now: lenient(z.boolean().nullable())
    .optional()
    .describe("Also run a backup now. If its server cannot run databases, nothing is created or changed."),
};

export const BackupCreate = z.strictObject({
  frequency: Frequency,
  ...OPTIONAL,
  ...inputShape(SETTINGS, BACKUP_DEFAULTS),
});
export type BackupCreate = z.infer<typeof BackupCreate>;

/** Omitted fields keep their values. */
export const BackupUpdate = z.strictObject({ frequency: Frequency.optional(), ...OPTIONAL, ...inputShape(SETTINGS) });
export type BackupUpdate = z.infer<typeof BackupUpdate>;

/** Limit of databases per schedule; each gets a run of its own. */
const TARGETS_MAX = 100;

/** The databases to dump, without duplicates; `undefined` when the text names none. */
export function dumpTargets(engine: DatabaseEngine, text: string): readonly DumpTarget[] | undefined {
  const { dumps } = databaseEngine(engine);
  if (dumps === null) return undefined;
  const targets = new Map<string, DumpTarget>();
  for (const entry of text.split(dumps.separator)) {
    const target = dumpTarget(entry, dumps.hasCollections);
    if (target === undefined) return undefined;
    targets.set(JSON.stringify(target), target);
  }
  return [...targets.values()];
}

// Safe as an argument of the client programs: neither an option nor a server address.
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.$-]{0,127}$/;

/** Whether a database of this name can be dumped. */
export const isDumpName = (name: string): boolean => NAME.test(name);

function dumpTarget(entry: string, hasCollections: boolean): DumpTarget | undefined {
  const [database = "", excluded, ...rest] = entry.split(":").map((part) => part.trim());
  if (excluded !== undefined && !hasCollections) return undefined;
  const excludedCollections = excluded === undefined ? [] : excluded.split(",").map((name) => name.trim());
  const isSound = rest.length === 0 && [database, ...excludedCollections].every(isDumpName);
  return isSound ? { database, excludedCollections } : undefined;
}

/** The settings of a schedule after a request. */
export interface BackupPlan {
  readonly enabled: boolean;
  readonly frequency: string;
  readonly settings: BackupSettings;
}

export interface BackupSubject {
  readonly engine: DatabaseEngine;
  /** Fields of the database; one of them names its first database. */
  readonly fields: Readonly<Record<string, string | null>>;
  /** The schedule names an S3 storage, now or already before. */
  readonly hasStorage: boolean;
}

/** A new schedule, before the fields of the request are applied. */
export const newBackup = ({ frequency, s3_storage_uuid }: BackupCreate): BackupPlan => ({
  enabled: true,
  frequency,
  settings: { ...BACKUP_DEFAULTS, save_s3: typeof s3_storage_uuid === "string" },
});

/** A schedule with the fields of a request applied. Without names of databases it dumps the first one. */
export function backupPlan(
  subject: BackupSubject,
  current: BackupPlan,
  sent: BackupUpdate,
): BackupPlan & { readonly problems: FieldErrors } {
  const settings = { ...current.settings, ...sentFields(sent, BACKUP_DEFAULTS) };
  const databases_to_backup = settings.databases_to_backup ?? mainDatabase(subject.engine, subject.fields);
  return {
    enabled: sent.enabled ?? current.enabled,
    frequency: sent.frequency ?? current.frequency,
    settings: { ...settings, databases_to_backup },
    problems: {
      ...(settings.save_s3 && !subject.hasStorage ? { s3_storage_uuid: [STORAGE_NEEDED] } : {}),
      ...(settings.disable_local_backup && !settings.save_s3 ? { disable_local_backup: [S3_NEEDED] } : {}),
      ...targetProblems(subject.engine, databases_to_backup),
    },
  };
}

const S3_NEEDED = "Backups would not be kept anywhere: set save_s3 too.";
const STORAGE_NEEDED = "This field is required when save_s3 is true.";

/** The database that the engine creates first. */
export function mainDatabase(engine: DatabaseEngine, fields: Readonly<Record<string, string | null>>): string | null {
  const { dumps } = databaseEngine(engine);
  return dumps === null ? null : (engineValues(engine, fields)[dumps.mainField] ?? null);
}

function targetProblems(engine: DatabaseEngine, names: string | null): FieldErrors {
  const { dumps } = databaseEngine(engine);
  if (dumps === null) return { _: ["Scheduled backups are not supported for this database type."] };
  const targets = names === null ? [] : dumpTargets(engine, names);
  if (targets !== undefined && targets.length <= TARGETS_MAX) return {};
  if (targets !== undefined) return { databases_to_backup: [`At most ${TARGETS_MAX} databases.`] };
  const form = dumps.hasCollections ? "db:collection,collection|db" : "names separated by commas";
  return { databases_to_backup: [`Must be ${form}, of letters, digits and _ . $ - only.`] };
}
