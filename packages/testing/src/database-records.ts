import { notFound } from "@berth/core";
import { BACKUP_DEFAULTS } from "@berth/core/backup";
import { databaseDefaults } from "@berth/core/database";
import type {
  BackupEnd,
  BackupExecutionRecord,
  BackupPlaces,
  BackupScheduleRecord,
  DatabaseRecord,
  S3StorageRecord,
  Stores,
  SystemStores,
} from "@berth/core/ports";
import type { TestDatabase } from "./database.ts";
import { type TestPlace, testUuid } from "./records.ts";

/** A PostgreSQL resource without a public port. */
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

/** A database with a daily backup schedule, and a running execution. */
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
    settings: { ...BACKUP_DEFAULTS, save_s3: true, databases_to_backup: "postgres" },
  });
  await system.backups.begin(schedule.id, new Date());
  const [execution] = (await stores.backups.executions(schedule.id)).items;
  if (execution === undefined) throw notFound("Backup configuration");
  return { database, storage, schedule, execution };
}

/** Ends an execution as a worker does. Default: success with a file. */
export async function endTestBackup(
  { backups }: SystemStores,
  serverId: number,
  uuid: string,
  end: Partial<BackupEnd & BackupPlaces> = {},
): Promise<void> {
  const claim = () => backups.claim([serverId], { owner: "worker", leaseSeconds: 60, at: new Date() });
  let claimed = await claim();
  // Waiting executions of other tests are claimed as well, and stay running.
  while (claimed !== undefined && claimed.execution_uuid !== uuid) claimed = await claim();
  if (claimed === undefined) throw new Error("The backup does not run.");
  const hold = { uuid, owner: "worker" };
  const { folder = "folder", filename = `/b/${uuid}`, s3_key = null } = end;
  await backups.place(hold, {
    folder,
    filename,
    s3_key,
    s3_storage_id: s3_key === null ? null : claimed.s3_storage_id,
  });
  await backups.finish(hold, {
    ...{ status: "success", message: null, size_bytes: 10, sha256: "00", table_rows: null, keepsFile: true },
    ...{ s3_uploaded: s3_key !== null, finished_at: new Date() },
    ...end,
  });
}
