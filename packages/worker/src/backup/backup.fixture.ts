import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backupFiles, decompress, digest, objectStorage } from "@berth/backup";
import { BACKUP_DEFAULTS, type BackupSettings } from "@berth/core/backup";
import { type DatabaseEngine, databaseEngine, engineValues } from "@berth/core/database";
import { databaseSpec } from "@berth/core/deploy";
import type {
  BackupExecutionRecord,
  BackupScheduleRecord,
  DatabaseRecord,
  ReleaseRecord,
  RestoreKind,
  RestoreRecord,
} from "@berth/core/ports";
import { dockerClient } from "@berth/docker-client";
import { type DockerEngine, dockerEngine } from "@berth/engine";
import { localHost } from "@berth/host";
import {
  type DockerFixture,
  type S3Server,
  startS3Server,
  type TestDatabase,
  testDatabase,
  testDatabaseResource,
  testPlace,
  testS3Storage,
  testUuid,
  until,
} from "@berth/testing";
import type { BackupTools } from "../ports.ts";
import { testRunner } from "./runner.fixture.ts";

/** Databases in containers of this machine's engine, with a backup runner in this process. */
export interface BackupWorld {
  readonly engine: DockerEngine;
  readonly s3: S3Server;
  readonly folder: string;
  /** Tests can replace the tools for later runs. */
  tools: BackupTools;
  database(kind: DatabaseEngine, fields?: Readonly<Record<string, string>>): Promise<RunningDatabase>;
  close(): Promise<void>;
}

export interface RunningDatabase {
  readonly record: DatabaseRecord;
  /** Runs statements and returns their output. */
  sql(statements: string, host?: string): Promise<string>;
  script(script: string): Promise<string>;
  schedule(settings?: Partial<BackupSettings>, bucket?: string): Promise<BackupScheduleRecord>;
  /** Requests a run and waits for its end. */
  run(schedule: BackupScheduleRecord): Promise<BackupExecutionRecord>;
  /** Requests a run without waiting. */
  begin(schedule: BackupScheduleRecord): Promise<BackupExecutionRecord>;
  ended(schedule: BackupScheduleRecord, uuid: string): Promise<BackupExecutionRecord>;
  restore(
    kind: RestoreKind,
    execution: BackupExecutionRecord,
    target?: DatabaseRecord,
    databaseName?: string,
  ): Promise<RestoreRecord>;
}

/** Local stand-ins; other settings are the product's. */
const IMAGES: Partial<Record<DatabaseEngine, string>> = { postgresql: "postgres:17-alpine", mariadb: "mariadb:11" };

export async function backupWorld(fixture: DockerFixture): Promise<BackupWorld> {
  const database: TestDatabase = await testDatabase();
  const stores = database.stores();
  const place = await testPlace(stores);
  const s3 = await startS3Server();
  const folder = mkdtempSync(join(tmpdir(), "berth-backup-world-"));
  const host = localHost("test");
  const builder = {
    buildPacks: [],
    build: () => Promise.reject(new Error("Nothing is built here.")),
    removeImage: async () => {},
    removeImages: async () => {},
  };
  const engine = dockerEngine({
    ...{ host, docker: dockerClient(host), instance: fixture.instance, network: await fixture.network(), builder },
  });
  const releases = new Map<number, ReleaseRecord>();
  const world: BackupWorld = {
    engine,
    s3,
    folder,
    tools: {
      files: backupFiles(folder),
      objectStorage: (storage, login) => objectStorage({ allowedPrivateHosts: ["127.0.0.1"] }, storage, login),
      digest,
      decompress,
    },
    database: (kind, fields) => start(kind, fields),
    async close() {
      await runner.stop({ graceSeconds: 0 });
      await engine.close({ stopReleases: false });
      await s3.close();
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const { system } = database;
  const runner = testRunner({ system, server: place.server, engine, releases, tools: () => world.tools });

  async function start(kind: DatabaseEngine, fields: Readonly<Record<string, string>> = {}): Promise<RunningDatabase> {
    const values = engineValues(kind, {});
    const secrets = Object.fromEntries(
      Object.entries(databaseEngine(kind).fields).flatMap(([name, { type }]) =>
        type === "password" ? [[name, `${testUuid()} '\\" of ${name}`]] : [],
      ),
    );
    const known = Object.fromEntries(
      Object.entries(databaseEngine(kind).fields).flatMap(([name, field]) =>
        field.type === "password" || field.type === "fixed"
          ? []
          : [[name, fields[name] ?? values[name] ?? field.default]],
      ),
    );
    const record = await testDatabaseResource(stores, place, { engine: kind, fields: known, secrets });
    const deployment = { uuid: testUuid() };
    const artifact = { type: "image", image: IMAGES[kind] ?? "" } as const;
    const spec = databaseSpec({ database: record, secrets, deployment, envs: [], storages: [] }, artifact);
    const ref = { resourceUuid: record.uuid, deploymentUuid: deployment.uuid };
    await engine.start(spec, { signal: new AbortController().signal, onLine: () => undefined });
    // A backup reads only these fields of a release.
    releases.set(record.id, {
      deployment_uuid: deployment.uuid,
      resource_uuid: record.uuid,
      artifact,
    } as ReleaseRecord);
    const all = engineValues(kind, { ...known, ...secrets });
    const signal = () => AbortSignal.timeout(60_000);
    const health = { argv: databaseEngine(kind).health(all), variables: {} };
    await until(
      async () => {
        const { exitCode } = await engine.containers
          .command(ref, health, { signal: signal() })
          .catch(() => ({ exitCode: 1 }));
        return exitCode === 0;
      },
      { what: "the database is healthy", seconds: 60 },
    );

    const printed = async (argv: readonly [string, ...string[]], variables: Readonly<Record<string, string>>) => {
      const chunks: Uint8Array[] = [];
      const output = async (read: AsyncIterable<Uint8Array>) => {
        for await (const chunk of read) chunks.push(chunk);
      };
      const { exitCode, errors } = await engine.containers.command(
        ref,
        { argv, variables },
        { signal: signal(), output },
      );
      if (exitCode !== 0) throw new Error(`${argv[0]}: ${errors.join("\n")}`);
      return Buffer.concat(chunks).toString().trim();
    };
    const client = {
      postgresql: [
        "psql",
        "--username=postgres",
        `--dbname=${known.postgres_db}`,
        "-At",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
      ],
      mariadb: ["mariadb", "--user=root", "-N", "-B", String(known.mariadb_database), "-e"],
    } as const;
    const argvOf = (statements: string, host?: string) => {
      const [program, ...args] = kind === "postgresql" ? client.postgresql : client.mariadb;
      return [program, ...(host === undefined ? [] : [`--host=${host}`]), ...args, statements] as const;
    };
    const executionOf = async (schedule: BackupScheduleRecord, uuid: string) => {
      const found = await stores.backups.findExecution(schedule.id, uuid);
      return found?.status === "running" ? undefined : found;
    };
    const own: RunningDatabase = {
      record,
      sql: (statements, host) =>
        printed(argvOf(statements, host), {
          PGPASSWORD: secrets.postgres_password ?? "",
          MYSQL_PWD: secrets.mariadb_root_password ?? "",
        }),
      script: (script) => printed(["sh", "-c", script], {}),
      async schedule(settings = {}, bucket = s3.bucket) {
        const { key, secret, endpoint } = s3;
        const storage = await testS3Storage(stores, { endpoint, bucket, key, secret });
        const main = known[databaseEngine(kind).dumps?.mainField ?? ""] ?? null;
        return await stores.backups.insert(record.id, testUuid(), {
          ...{ enabled: true, frequency: "daily", s3_storage_id: storage.id },
          settings: { ...BACKUP_DEFAULTS, databases_to_backup: main, ...settings },
        });
      },
      async begin(schedule) {
        const before = (await stores.backups.executions(schedule.id)).total;
        await stores.backups.request(record.id, schedule.uuid);
        return await until(
          async () => {
            const { items, total } = await stores.backups.executions(schedule.id);
            return total > before ? items[0] : undefined;
          },
          { what: "the run begins" },
        );
      },
      ended: (schedule, uuid) => until(() => executionOf(schedule, uuid), { what: "the backup ends", seconds: 120 }),
      async run(schedule) {
        return await own.ended(schedule, (await own.begin(schedule)).uuid);
      },
      async restore(kind, execution, target = record, database_name = execution.database_name ?? undefined) {
        const uuid = testUuid();
        await stores.restores.insert({
          ...{ uuid, kind, database_name: database_name ?? null, backup_execution_id: execution.id },
          ...{ resource_id: record.id, target_resource_id: target.id },
        });
        return await until(
          async () => {
            const found = await stores.restores.find(record.id, uuid);
            return found?.status === "running" ? undefined : found;
          },
          { what: "the restore ends", seconds: 120 },
        );
      },
    };
    return own;
  }
  return world;
}
