import {
  BACKUP_DEFAULTS,
  type BackupExecutionRecord,
  type BackupScheduleRecord,
  type DatabaseRecord,
  databaseDefaults,
  notFound,
  type S3StorageRecord,
  type Stores,
} from "@berth/core";
import type { TestDatabase } from "./database.ts";
import { type TestPlace, testUuid } from "./records.ts";

/** A private PostgreSQL database. */
export async function testDatabaseResource(
  stores: Stores,
  { environment, server, destination }: Pick<TestPlace, "environment" | "server" | "destination">,
  options: Partial<Parameters<Stores["databases"]["insert"]>[0]> = {},
): Promise<DatabaseRecord> {
  const engine = options.engine ?? "postgresql";
  const uuid = testUuid();
  return await stores.databases.insert({
    uuid,
    environment_id: environment.id,
    server_id: server.id,
    destination_id: destination.id,
    name: `${engine}-database-${uuid}`,
    description: null,
    engine,
    settings: databaseDefaults(engine),
    fields: { postgres_user: "postgres", postgres_db: "postgres" },
    secrets: { postgres_password: "hunter2" },
    is_public: false,
    public_port: null,
    ...options,
  });
}

/** A bucket for backups. */
export const testS3Storage = (
  stores: Stores,
  fields: Partial<Parameters<Stores["s3Storages"]["insert"]>[1]> = {},
): Promise<S3StorageRecord> =>
  stores.s3Storages.insert(testUuid(), {
    name: "backups",
    description: null,
    endpoint: "https://s3.example",
    bucket: "backups",
    region: "eu-central-1",
    is_usable: true,
    key: "AKEY",
    secret: "hush-hush",
    ...fields,
  });

interface TestBackup {
  readonly database: DatabaseRecord;
  readonly storage: S3StorageRecord;
  readonly schedule: BackupScheduleRecord;
  readonly execution: BackupExecutionRecord;
}

/** A database that is saved every day, and is being saved. */
export async function testBackup(
  { system }: Pick<TestDatabase, "system">,
  stores: Stores,
  place: TestPlace,
): Promise<TestBackup> {
  const database = await testDatabaseResource(stores, place);
  const storage = await testS3Storage(stores);
  const schedule = await stores.backups.insert(database.id, testUuid(), {
    enabled: true,
    frequency: "daily",
    s3_storage_id: storage.id,
    settings: { ...BACKUP_DEFAULTS, save_s3: true },
  });
  const execution = await system.backups.startExecution(schedule.id, { uuid: testUuid(), database_name: "postgres" });
  if (execution === undefined) throw notFound("Backup configuration");
  return { database, storage, schedule, execution };
}
