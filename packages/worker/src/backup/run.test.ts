import { DomainError } from "@berth/core";
import type { ObjectStorage, SystemStores } from "@berth/core/ports";
import { testUuid, until } from "@berth/testing";
import { expect, test } from "vitest";
import { backupRuns, DONE, dumping, endless, isDump, quick, text } from "./run.fixture.ts";

const at = backupRuns();

test("tells how far it is, and ends when it takes longer than it may", async () => {
  at.program = endless;
  at.start();
  const backup = await at.scheduled({ timeout: 3 });
  await backup.dumping();
  expect(await backup.newest()).toMatchObject({ status: "running", step: "dumping", finished_at: null });
  expect(await backup.ended()).toMatchObject({
    ...{ status: "failed", message: "It took longer than 3 s and was ended.", step: null },
    local_storage_deleted: true,
  });
  expect(backup.files()).toEqual([]);
});

test("hides passwords in what the program says", async () => {
  at.program = dumping(async () => ({ exitCode: 1, errors: ["login s3cret-password refused"] }));
  at.start();
  const { message } = await (await at.scheduled()).ended();
  expect(message).toMatch(/^pg_dump exited with code 1\.\nlogin .* refused$/);
  expect(message).not.toContain("s3cret-password");
});

test("is no success when the dump is empty, or the database does not run", async () => {
  at.program = dumping(async () => DONE);
  at.start();
  expect(await (await at.scheduled()).ended()).toMatchObject({ status: "failed", message: "pg_dump wrote nothing." });
  const stopped = await at.scheduled();
  await stopped.ended();
  at.releases.delete(stopped.record.id);
  await stopped.stores.backups.request(stopped.record.id, stopped.schedule.uuid);
  await until(async () => (await stopped.stores.backups.executions(stopped.schedule.id)).total === 2, {
    what: "the second ends",
  });
  expect(await stopped.ended()).toMatchObject({ message: "The database is not running. Start it first." });
});

test("ends as failed, without a file, when its control plane is killed", async () => {
  at.program = endless;
  const backup = await at.scheduled();
  // Never renews, like a worker that has died.
  const renew = async () => [];
  const killed = {
    ...at.database.system,
    backups: { ...at.database.system.backups, renew, finish: async () => false },
  };
  at.start({ system: killed, settings: { leaseSeconds: 1, renewSeconds: 600 } });
  await backup.dumping();
  at.start({ server: { id: -1 } });
  expect(await backup.ended()).toMatchObject({ status: "failed", message: "The control plane stopped while it ran." });
  await until(() => backup.files().length === 0, { what: "its file goes" });
});

test("is broken off before another says that it was, also when the database does not answer at all", async () => {
  let isBrokenOff = false;
  at.program = dumping(async (command, io) => {
    io.signal.addEventListener("abort", () => (isBrokenOff = true), { once: true });
    return await endless(command, io);
  });
  const backup = await at.scheduled();
  const renew = () => new Promise<never>(() => undefined);
  at.start({
    system: { ...at.database.system, backups: { ...at.database.system.backups, renew } },
    settings: { leaseSeconds: 2, renewSeconds: 0.2 },
  });
  await backup.dumping();
  at.start({ server: { id: -1 } });
  expect(await backup.ended()).toMatchObject({ status: "failed", message: "The control plane stopped while it ran." });
  expect(isBrokenOff).toBe(true);
});

test("ends as failed when the control plane is stopped, and is deleted with its file while it runs", async () => {
  at.program = endless;
  const runner = at.start();
  const backup = await at.scheduled();
  await backup.dumping();
  await runner.stop({ graceSeconds: 0 });
  expect(await backup.ended()).toMatchObject({ message: "The control plane was stopped while it ran." });
  expect(backup.files()).toEqual([]);

  at.start({ settings: { renewSeconds: 0.1 } });
  const deleted = await at.scheduled();
  await deleted.dumping();
  await deleted.stores.backups.delete(deleted.record.id, deleted.schedule.uuid);
  await until(() => deleted.files().length === 0, { what: "its file goes" });
});

test("counts rows where none were written meanwhile, and continues where they cannot be counted", async () => {
  let counts = 0;
  at.program = async (command, { output }) => {
    if (isDump(command)) await output?.(text("dump"));
    else {
      counts += 1;
      await output?.(text(`public.still\t7\npublic.busy\t${counts}\n`));
    }
    return DONE;
  };
  const runner = at.start();
  const backup = await at.scheduled();
  expect(await backup.ended()).toMatchObject({ status: "success", s3_uploaded: null });
  await runner.stop({ graceSeconds: 0 });
  const { id } = (await backup.newest()) ?? { id: 0 };
  await backup.stores.restores.insert({
    ...{ uuid: testUuid(), kind: "drill", database_name: null, backup_execution_id: id },
    ...{ resource_id: backup.record.id, target_resource_id: backup.record.id },
  });
  const claimed = await at.database.system.restores.claim([at.place.server.id], {
    owner: "x",
    leaseSeconds: 60,
    at: new Date(),
  });
  expect(claimed?.table_rows).toEqual({ "public.still": 7 });
  at.program = async (command, { output }) => {
    if (!isDump(command)) return { exitCode: 1, errors: ["no"] };
    await output?.(text("dump"));
    return DONE;
  };
  at.start();
  expect(await (await at.scheduled()).ended()).toMatchObject({ status: "success" });
});

test("gives copies up by the rules that hold when it ends, not by those that held when it began", async () => {
  at.program = quick;
  const runner = at.start();
  const backup = await at.scheduled({ database_backup_retention_amount_locally: 1 });
  await backup.ended();
  const isBegun = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  at.program = dumping(async (...asked) => {
    isBegun.resolve();
    await mayEnd.promise;
    return await quick(...asked);
  });
  await backup.stores.backups.request(backup.record.id, backup.schedule.uuid);
  await isBegun.promise;
  const settings = { ...backup.schedule.settings, database_backup_retention_amount_locally: 5 };
  await backup.stores.backups.update(backup.record.id, backup.schedule.uuid, { ...backup.schedule, settings });
  mayEnd.resolve();
  await until(async () => (await backup.newest())?.status === "success", { what: "both are there" });
  await runner.stop({ graceSeconds: 5 });
  const { items } = await backup.stores.backups.executions(backup.schedule.id);
  expect(items.map(({ local_storage_deleted }) => local_storage_deleted)).toEqual([false, false]);
});

test("is a success also when the database is away at the moment of its end", async () => {
  at.program = quick;
  let away = 2;
  const finish: SystemStores["backups"]["finish"] = async (...end) => {
    away -= 1;
    if (away >= 0) throw new DomainError("database.unavailable", "The database does not answer.");
    return await at.database.system.backups.finish(...end);
  };
  at.start({ system: { ...at.database.system, backups: { ...at.database.system.backups, finish } } });
  const backup = await at.scheduled();
  expect(await backup.ended()).toMatchObject({ status: "success", local_storage_deleted: false });
});

test("leaves no object behind when it is deleted while it is sent", async () => {
  at.program = quick;
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
  at.start({ tools: () => ({ ...at.tools(), objectStorage: () => bucket }) });
  const backup = await at.scheduled({ save_s3: true });
  await isSending.promise;
  await backup.stores.backups.delete(backup.record.id, backup.schedule.uuid, { deleteS3: true });
  const { removals } = at.database.system.backups;
  await until(async () => (await removals("", 100)).length === 0 && backup.files().length === 0, {
    what: "what is known of goes",
  });
  mayArrive.resolve();
  await hasArrived.promise;
  await until(() => objects.size === 0, { what: "it goes" });
});

test("tells the beginning only of what a program says at length", async () => {
  at.program = dumping(async () => ({ exitCode: 1, errors: Array.from({ length: 8 }, () => "no ".repeat(20_000)) }));
  at.start();
  const { message } = await (await at.scheduled()).ended();
  expect(message).toMatch(/^pg_dump exited with code 1\.\nno no /);
  expect(message?.length).toBeLessThanOrEqual(10_000);
});

test("is restored also when the database is away while its progress is told", async () => {
  at.program = quick;
  const { restores } = at.database.system;
  const progress: SystemStores["restores"]["progress"] = async () => {
    throw new DomainError("database.unavailable", "The database does not answer.");
  };
  at.start({ system: { ...at.database.system, restores: { ...restores, progress } } });
  const backup = await at.scheduled();
  await backup.ended();
  expect(await (await backup.restore()).ended()).toMatchObject({ status: "success", message: null });
});
