import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BACKUP_DEFAULTS,
  type BackupSettings,
  type CommandIO,
  type CommandResult,
  type DatabaseCommand,
  DomainError,
  type Engine,
  type ObjectStorage,
  type ReleaseRecord,
  type SystemStores,
} from "@berth/core";
import { backupFiles, decompress, digest, objectStorage } from "@berth/engine";
import {
  type TestDatabase,
  type TestPlace,
  testDatabase,
  testDatabaseResource,
  testPlace,
  testS3Storage,
  testUuid,
} from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { HeldRunner } from "../held-runs.ts";
import { until } from "../world.fixture.ts";
import { type TestRunner, testRunner } from "./runner.fixture.ts";
import type { BackupTools } from "./tools.ts";

/** What a program of the database does. */
type Program = (command: DatabaseCommand, io: CommandIO) => Promise<CommandResult>;

let database: TestDatabase;
let place: TestPlace;
let folder: string;
let program: Program;
const runners: HeldRunner[] = [];
const releases = new Map<number, ReleaseRecord>();

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

const DONE = { exitCode: 0, errors: [] };
async function* text(value: string) {
  yield Buffer.from(value);
}
const isDump = ({ argv }: DatabaseCommand) => argv[0] === "pg_dump";
/** Counts nothing, and dumps in this way. */
const dumping =
  (dump: Program): Program =>
  async (command, io) =>
    isDump(command) ? await dump(command, io) : DONE;
const endless = dumping(async (_, { signal, output }) => {
  await output?.(text("half"));
  return await new Promise((_, reject) => {
    const stop = () => reject(new DomainError("deploy.cancelled", "The work was cancelled."));
    signal.addEventListener("abort", stop, { once: true });
  });
});

const tools = (): BackupTools => ({
  files: backupFiles(folder),
  objectStorage: (storage, login) => objectStorage({ allowedPrivateHosts: [] }, storage, login),
  ...{ digest, decompress },
});

function start(change: Partial<TestRunner> = {}): HeldRunner {
  // Of an engine, a backup uses this only.
  const engine = {
    command: (_: unknown, command: DatabaseCommand, io: CommandIO) => program(command, io),
  } as never as Engine;
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
}

async function scheduled(settings: Partial<BackupSettings> = {}) {
  const stores = database.stores();
  const storage = settings.save_s3 ? await testS3Storage(stores) : undefined;
  const record = await testDatabaseResource(stores, place, { secrets: { postgres_password: "s3cret-password" } });
  // Of a release, a backup reads no more than this.
  releases.set(record.id, { deployment_uuid: testUuid(), resource_uuid: record.uuid } as ReleaseRecord);
  const schedule = await stores.backups.insert(record.id, testUuid(), {
    ...{ enabled: true, frequency: "daily", s3_storage_id: storage?.id ?? null },
    settings: { ...BACKUP_DEFAULTS, databases_to_backup: "shop", ...settings },
  });
  await stores.backups.request(record.id, schedule.uuid);
  const newest = async () => (await stores.backups.executions(schedule.id)).items[0];
  const files = () =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("shop"));
  return {
    stores,
    record,
    schedule,
    files,
    newest,
    dumping: () => until("it dumps", async () => ((await newest())?.written_bytes ?? 0) > 0 && files().length === 1),
    ended: () =>
      until("it ends", async () => {
        const found = await newest();
        return found?.status === "running" ? undefined : found;
      }),
  };
}

test("tells how far it is, and ends when it takes longer than it may", async () => {
  program = endless;
  start();
  const backup = await scheduled({ timeout: 1 });
  await backup.dumping();
  expect(await backup.newest()).toMatchObject({ status: "running", step: "dumping", finished_at: null });
  expect(await backup.ended()).toMatchObject({
    ...{ status: "failed", message: "It took longer than 1 s and was ended.", step: null },
    local_storage_deleted: true,
  });
  expect(backup.files()).toEqual([]);
});

test("hides passwords in what the program says", async () => {
  program = dumping(async () => ({ exitCode: 1, errors: ["login s3cret-password refused"] }));
  start();
  const { message } = await (await scheduled()).ended();
  expect(message).toMatch(/^pg_dump exited with code 1\.\nlogin .* refused$/);
  expect(message).not.toContain("s3cret-password");
});

test("is no success when the dump is empty, or the database does not run", async () => {
  program = dumping(async () => DONE);
  start();
  expect(await (await scheduled()).ended()).toMatchObject({ status: "failed", message: "pg_dump wrote nothing." });
  const stopped = await scheduled();
  await stopped.ended();
  releases.delete(stopped.record.id);
  await stopped.stores.backups.request(stopped.record.id, stopped.schedule.uuid);
  await until(
    "the second ends",
    async () => (await stopped.stores.backups.executions(stopped.schedule.id)).total === 2,
  );
  expect(await stopped.ended()).toMatchObject({ message: "The database is not running. Start it first." });
});

test("ends as failed, without a file, when its control plane is killed", async () => {
  program = endless;
  const backup = await scheduled();
  // It never renews, as one that is gone.
  const renew = async () => [];
  const killed = { ...database.system, backups: { ...database.system.backups, renew, finish: async () => false } };
  start({ system: killed, settings: { leaseSeconds: 1, renewSeconds: 600 } });
  await backup.dumping();
  start({ server: { id: -1 } });
  expect(await backup.ended()).toMatchObject({ status: "failed", message: "The control plane stopped while it ran." });
  await until("its file goes", () => backup.files().length === 0);
});

test("is broken off before another says that it was, also when the database does not answer at all", async () => {
  let isBrokenOff = false;
  program = dumping(async (command, io) => {
    io.signal.addEventListener("abort", () => (isBrokenOff = true), { once: true });
    return await endless(command, io);
  });
  const backup = await scheduled();
  const renew = () => new Promise<never>(() => undefined);
  start({
    system: { ...database.system, backups: { ...database.system.backups, renew } },
    settings: { leaseSeconds: 2, renewSeconds: 0.2 },
  });
  await backup.dumping();
  start({ server: { id: -1 } });
  expect(await backup.ended()).toMatchObject({ status: "failed", message: "The control plane stopped while it ran." });
  expect(isBrokenOff).toBe(true);
});

test("ends as failed when the control plane is stopped, and is deleted with its file while it runs", async () => {
  program = endless;
  const runner = start();
  const backup = await scheduled();
  await backup.dumping();
  await runner.stop({ graceSeconds: 0 });
  expect(await backup.ended()).toMatchObject({ message: "The control plane was stopped while it ran." });
  expect(backup.files()).toEqual([]);

  start({ settings: { renewSeconds: 0.1 } });
  const deleted = await scheduled();
  await deleted.dumping();
  await deleted.stores.backups.delete(deleted.record.id, deleted.schedule.uuid);
  await until("its file goes", () => deleted.files().length === 0);
});

test("counts rows where none were written meanwhile, and goes on where they cannot be counted", async () => {
  let counts = 0;
  program = async (command, { output }) => {
    if (isDump(command)) await output?.(text("dump"));
    else {
      counts += 1;
      await output?.(text(`public.still\t7\npublic.busy\t${counts}\n`));
    }
    return DONE;
  };
  const runner = start();
  const backup = await scheduled();
  expect(await backup.ended()).toMatchObject({ status: "success", s3_uploaded: null });
  await runner.stop({ graceSeconds: 0 });
  const { id } = (await backup.newest()) ?? { id: 0 };
  await backup.stores.restores.insert({
    ...{ uuid: testUuid(), kind: "drill", database_name: null, backup_execution_id: id },
    ...{ resource_id: backup.record.id, target_resource_id: backup.record.id },
  });
  const claimed = await database.system.restores.claim([place.server.id], {
    owner: "x",
    leaseSeconds: 60,
    at: new Date(),
  });
  expect(claimed?.table_rows).toEqual({ "public.still": 7 });
  program = async (command, { output }) => {
    if (!isDump(command)) return { exitCode: 1, errors: ["no"] };
    await output?.(text("dump"));
    return DONE;
  };
  start();
  expect(await (await scheduled()).ended()).toMatchObject({ status: "success" });
});

const quick = dumping(async (_, { output }) => {
  await output?.(text("dump"));
  return DONE;
});

test("gives copies up by the rules that hold when it ends, not by those that held when it began", async () => {
  program = quick;
  const runner = start();
  const backup = await scheduled({ database_backup_retention_amount_locally: 1 });
  await backup.ended();
  const isBegun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  program = dumping(async (...asked) => {
    isBegun.resolve();
    await mayEnd.promise;
    return await quick(...asked);
  });
  await backup.stores.backups.request(backup.record.id, backup.schedule.uuid);
  await isBegun.promise;
  const settings = { ...backup.schedule.settings, database_backup_retention_amount_locally: 5 };
  await backup.stores.backups.update(backup.record.id, backup.schedule.uuid, { ...backup.schedule, settings });
  mayEnd.resolve();
  await until("both are there", async () => (await backup.newest())?.status === "success");
  await runner.stop({ graceSeconds: 5 });
  const { items } = await backup.stores.backups.executions(backup.schedule.id);
  expect(items.map(({ local_storage_deleted }) => local_storage_deleted)).toEqual([false, false]);
});

test("is a success also when the database is away at the moment of its end", async () => {
  program = quick;
  let away = 2;
  const finish: SystemStores["backups"]["finish"] = async (...end) => {
    away -= 1;
    if (away >= 0) throw new DomainError("database.unavailable", "The database does not answer.");
    return await database.system.backups.finish(...end);
  };
  start({ system: { ...database.system, backups: { ...database.system.backups, finish } } });
  const backup = await scheduled();
  expect(await backup.ended()).toMatchObject({ status: "success", local_storage_deleted: false });
});

test("leaves no object behind when it is deleted while it is sent", async () => {
  program = quick;
  const objects = new Set<string>();
  const isSending = Promise.withResolvers<void>();
  const mayArrive = Promise.withResolvers<void>();
  const hasArrived = Promise.withResolvers<void>();
  const bucket: ObjectStorage = {
    async put(key) {
      isSending.resolve();
      await mayArrive.promise;
      objects.add(key);
      hasArrived.resolve();
    },
    async *get() {
      yield Buffer.from("dump");
    },
    remove: async (key) => void objects.delete(key),
  };
  start({ tools: () => ({ ...tools(), objectStorage: () => bucket }) });
  const backup = await scheduled({ save_s3: true });
  await isSending.promise;
  await backup.stores.backups.delete(backup.record.id, backup.schedule.uuid, { deleteS3: true });
  const { removals } = database.system.backups;
  await until(
    "what is known of goes",
    async () => (await removals("", 100)).length === 0 && backup.files().length === 0,
  );
  mayArrive.resolve();
  await hasArrived.promise;
  await until("it goes", () => objects.size === 0);
});

test("tells the beginning only of what a program says at length", async () => {
  program = dumping(async () => ({ exitCode: 1, errors: Array.from({ length: 8 }, () => "no ".repeat(20_000)) }));
  start();
  const { message } = await (await scheduled()).ended();
  expect(message).toMatch(/^pg_dump exited with code 1\.\nno no /);
  expect(message?.length).toBeLessThanOrEqual(10_000);
});

test("is restored also when the database is away while its progress is told", async () => {
  program = quick;
  const { restores } = database.system;
  const progress: SystemStores["restores"]["progress"] = async () => {
    throw new DomainError("database.unavailable", "The database does not answer.");
  };
  start({ system: { ...database.system, restores: { ...restores, progress } } });
  const backup = await scheduled();
  const { id } = await backup.ended();
  const uuid = testUuid();
  await backup.stores.restores.insert({
    ...{ uuid, kind: "restore", database_name: "shop", backup_execution_id: id },
    ...{ resource_id: backup.record.id, target_resource_id: backup.record.id },
  });
  const restore = () => backup.stores.restores.find(backup.record.id, uuid);
  await until("the restore ends", async () => (await restore())?.status !== "running");
  expect(await restore()).toMatchObject({ status: "success", message: null });
});
