import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backupFiles, decompress, digest, objectStorage } from "@berth/backup";
import { DomainError } from "@berth/core";
import { BACKUP_DEFAULTS, type BackupSettings } from "@berth/core/backup";
import type { DatabaseCommand, DatabaseEngine } from "@berth/core/database";
import type { CommandIO, CommandResult, Engine, ReleaseRecord, RestoreKind } from "@berth/core/ports";
import {
  type TestDatabase,
  type TestPlace,
  testDatabase,
  testDatabaseResource,
  testPlace,
  testS3Storage,
  testUuid,
  until,
} from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { LeaseRunner } from "../lease-runner.ts";
import type { BackupTools } from "../ports.ts";
import { type TestRunner, testRunner } from "./runner.fixture.ts";

export type Program = (command: DatabaseCommand, io: CommandIO) => Promise<CommandResult>;

export const DONE = { exitCode: 0, errors: [] };
export async function* text(value: string) {
  yield Buffer.from(value);
}
export const isDump = ({ argv }: DatabaseCommand) => argv[0] === "pg_dump";
/** A program that counts nothing, and dumps in the given way. */
export const dumping =
  (dump: Program): Program =>
  async (command, io) =>
    isDump(command) ? await dump(command, io) : DONE;
/** Runs until it is killed. */
export const untilKilled = ({ signal }: CommandIO): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(cancelled()), { once: true });
  });
const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");
export const endless = dumping(async (_, io) => {
  await io.output?.(text("half"));
  return await untilKilled(io);
});
export const quick = dumping(async (_, { output }) => {
  await output?.(text("dump"));
  return DONE;
});

export type BackupRuns = ReturnType<typeof backupRuns>;

/** Call it once in a test file: runners in this process, and databases whose programs the tests define. */
export function backupRuns() {
  const releases = new Map<number, ReleaseRecord>();
  const runners: LeaseRunner[] = [];
  let database: TestDatabase;
  let place: TestPlace;
  let folder: string;

  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-backup-run-"));
    place = await testPlace(database.stores());
  });
  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop({ graceSeconds: 0 })));
    rmSync(folder, { recursive: true, force: true });
  });

  const tools = (): BackupTools => ({
    files: backupFiles(folder),
    objectStorage: (storage, login) => objectStorage({ allowedPrivateHosts: [] }, storage, login),
    ...{ digest, decompress },
  });
  const runs = {
    /** Looked up for each command, so that tests can change it. */
    program: quick,
    get database() {
      return database;
    },
    get place() {
      return place;
    },
    releases,
    tools,
    start(change: Partial<TestRunner> = {}): LeaseRunner {
      // A backup uses only this part of an engine.
      const command = async (_: unknown, asked: DatabaseCommand, io: CommandIO) => {
        if (io.signal.aborted) throw cancelled();
        return await runs.program(asked, io);
      };
      const engine = { containers: { command } } as never as Engine;
      const runner = testRunner({
        system: database.system,
        server: place.server,
        engine,
        releases,
        tools,
        ...change,
      });
      runners.push(runner);
      return runner;
    },
    async stopFirst() {
      await runners.shift()?.stop({ graceSeconds: 0 });
    },
    async scheduled(settings: Partial<BackupSettings> = {}, engine: DatabaseEngine = "postgresql") {
      const stores = database.stores();
      const storage = settings.save_s3 ? await testS3Storage(stores) : undefined;
      const record = await testDatabaseResource(stores, place, { engine, secrets: SECRETS[engine] ?? {} });
      // A backup reads only these fields of a release.
      releases.set(record.id, { deployment_uuid: testUuid(), resource_uuid: record.uuid } as ReleaseRecord);
      const schedule = await stores.backups.insert(record.id, testUuid(), {
        ...{ enabled: true, frequency: "daily", s3_storage_id: storage?.id ?? null },
        settings: { ...BACKUP_DEFAULTS, databases_to_backup: "shop", ...settings },
      });
      await stores.backups.request(record.id, schedule.uuid);
      const newest = async () => (await stores.backups.executions(schedule.id)).items[0];
      const files = () =>
        readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("shop"));
      const isWritten = async () => ((await newest())?.written_bytes ?? 0) > 0 && files().length === 1;
      return {
        ...{ stores, record, schedule, files, newest },
        dumping: () => until(isWritten, { what: "it dumps" }),
        ended: () =>
          until(
            async () => {
              const found = await newest();
              return found?.status === "running" ? undefined : found;
            },
            { what: "it ends" },
          ),
        /** Runs a restore of the newest backup. */
        async restore(kind: RestoreKind = "restore") {
          const uuid = testUuid();
          const { id = 0, database_name = null } = (await newest()) ?? {};
          await stores.restores.insert({
            ...{ uuid, kind, database_name, backup_execution_id: id },
            ...{ resource_id: record.id, target_resource_id: record.id },
          });
          return {
            uuid,
            cancel: () => stores.restores.requestCancel(record.id, uuid, new Date()),
            ended: () =>
              until(
                async () => {
                  const found = await stores.restores.find(record.id, uuid);
                  return found?.status === "running" ? undefined : found;
                },
                { what: "the restore ends" },
              ),
          };
        },
      };
    },
  };
  return runs;
}

const SECRETS: Partial<Record<DatabaseEngine, Readonly<Record<string, string>>>> = {
  postgresql: { postgres_password: "s3cret-password" },
  mariadb: { mariadb_root_password: "s3cret-password" },
};
