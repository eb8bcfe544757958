import { DomainError } from "@berth/core";
import type { DatabaseEngine } from "@berth/core/database";
import type { CommandIO, SystemStores } from "@berth/core/ports";
import { assertTook, took, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { backupRuns, DONE, endless, isDump, type Program, quick, text, untilKilled } from "./run.fixture.ts";

const at = backupRuns();

const isInterruption: (command: Parameters<Program>[0]) => boolean = ({ argv }) =>
  argv.some((arg) => arg.includes("pg_cancel_backend"));
const isRestore: typeof isInterruption = ({ argv }) => argv[0] === "pg_restore" || argv[0] === "mariadb";

/** A program that exits with this code when its statement is interrupted, like a database client. */
function endsWhenInterrupted(isMeant: typeof isInterruption, exitCode: number) {
  const interrupted = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<CommandIO>();
  const names: string[] = [];
  const program: Program = async (command, io) => {
    if (isInterruption(command)) {
      names.push(command.argv.join(" "));
      interrupted.resolve();
      return DONE;
    }
    if (!isMeant(command)) return await quick(command, io);
    names.push(command.variables.PGAPPNAME ?? "");
    if (isDump(command)) await io.output?.(text("half"));
    begun.resolve(io);
    await interrupted.promise;
    return { exitCode, errors: ["ERROR: canceling statement due to user request"] };
  };
  return { program, begun: begun.promise, names };
}

describe("a backup that is cancelled while it dumps", () => {
  test("has its statement ended by its name, and keeps neither file nor object", async () => {
    const { program, names } = endsWhenInterrupted(isDump, 1);
    at.program = program;
    // It receives no notification, so it learns of the cancel when it renews its lease.
    at.start({ settings: { renewSeconds: 0.2 } });
    const backup = await at.scheduled();
    await backup.dumping();
    const { uuid = "" } = (await backup.newest()) ?? {};
    await backup.stores.backups.requestCancel(backup.schedule.id, uuid, new Date());
    expect(await backup.ended()).toMatchObject({
      ...{ status: "cancelled-by-user", message: "Cancelled by a user. Nothing of it was kept.", step: null },
      ...{ size_bytes: null, sha256: null, local_storage_deleted: true },
    });
    expect(names[0]).toBe(`berth-${uuid}`);
    expect(names[1]).toContain(`'berth-${uuid}'`);
    await until(() => backup.files().length === 0, { what: "its file goes" });
  });

  test("is killed when its server does not end the statement", async () => {
    at.program = endless;
    at.start({ settings: { renewSeconds: 0.2 } });
    const backup = await at.scheduled();
    await backup.dumping();
    const { uuid = "" } = (await backup.newest()) ?? {};
    await backup.stores.backups.requestCancel(backup.schedule.id, uuid, new Date());
    await assertTook(await took(backup.ended), 5000);
    expect((await backup.newest())?.status).toBe("cancelled-by-user");
    await until(() => backup.files().length === 0, { what: "its file goes" });
  });

  test("has its statement ended also by an engine that is slower than its program is waited for", async () => {
    const killed = Promise.withResolvers<void>();
    const interruptions: boolean[] = [];
    at.program = async (command, io) => {
      if (isDump(command)) return await endless(command, io).finally(() => killed.resolve());
      if (!isInterruption(command)) return DONE;
      await killed.promise;
      // Lets everything run that the end of the grace time causes.
      await new Promise(setImmediate);
      interruptions.push(!io.signal.aborted);
      return DONE;
    };
    at.start({ settings: { renewSeconds: 0.2 } });
    const backup = await at.scheduled();
    await backup.dumping();
    const { uuid = "" } = (await backup.newest()) ?? {};
    await backup.stores.backups.requestCancel(backup.schedule.id, uuid, new Date());
    expect((await backup.ended())?.status).toBe("cancelled-by-user");
    expect(interruptions).toEqual([true]);
  });

  test("says what is kept of it, also when the database is away just then", async () => {
    at.program = endless;
    const { backups } = at.database.system;
    let away = 2;
    const finish: typeof backups.finish = async (...end) => {
      away -= 1;
      if (away >= 0) throw new DomainError("database.unavailable", "The database does not answer.");
      return await backups.finish(...end);
    };
    at.start({ system: { ...at.database.system, backups: { ...backups, finish } }, settings: { renewSeconds: 0.2 } });
    const backup = await at.scheduled();
    await backup.dumping();
    const { uuid = "" } = (await backup.newest()) ?? {};
    await backup.stores.backups.requestCancel(backup.schedule.id, uuid, new Date());
    expect((await backup.ended()).message).toBe("Cancelled by a user. Nothing of it was kept.");
  });

  test("is a success when it was faster", async () => {
    const mayEnd = Promise.withResolvers<void>();
    at.program = async (command, io) => {
      if (isDump(command)) await mayEnd.promise;
      return await quick(command, io);
    };
    const { backups } = at.database.system;
    // This worker never learns of the cancel.
    const renew: SystemStores["backups"]["renew"] = async (...asked) =>
      (await backups.renew(...asked)).map((run) => ({ ...run, is_cancel_requested: false }));
    at.start({ system: { ...at.database.system, backups: { ...backups, renew } } });
    const backup = await at.scheduled();
    const { uuid } = await until(
      async () => {
        const found = await backup.newest();
        return found?.step === "dumping" ? found : undefined;
      },
      { what: "it runs" },
    );
    await backup.stores.backups.requestCancel(backup.schedule.id, uuid, new Date());
    mayEnd.resolve();
    expect(await backup.ended()).toMatchObject({ status: "success", local_storage_deleted: false });
  });
});

describe("a restore that is cancelled", () => {
  const saved = async (engine: DatabaseEngine = "postgresql", settings = {}) => {
    at.program = async (command, io) => {
      if (/dump/.test(command.argv[0])) await io.output?.(text("dump"));
      return DONE;
    };
    at.start({ settings: { renewSeconds: 0.2 } });
    const backup = await at.scheduled(settings, engine);
    expect(await backup.ended()).toMatchObject({ status: "success" });
    return backup;
  };

  test.each([
    [1, "The restore's transaction was rolled back, so the database is unchanged."],
    [0, "All of the backup had been restored, and is kept. Only its rows were not counted."],
  ])("says what its one transaction came to, when its program exits with %i", async (exitCode, said) => {
    const backup = await saved();
    const { program, begun } = endsWhenInterrupted(isRestore, exitCode);
    at.program = program;
    const restore = await backup.restore();
    await begun;
    await restore.cancel();
    expect(await restore.ended()).toMatchObject({
      ...{ status: "cancelled-by-user", tables: null, step: null, message: `Cancelled by a user. ${said}` },
    });
  });

  test.each([
    ["postgresql", "the database is unchanged, or contains all of the backup"],
    ["mariadb", "Restore a backup before you use it"],
  ] as const)("and had to be killed in %s does not say more than is known", async (engine, said) => {
    const backup = await saved(engine);
    const begun = Promise.withResolvers<void>();
    at.program = async (command, io) => {
      if (!isRestore(command)) return DONE;
      begun.resolve();
      return await untilKilled(io);
    };
    const restore = await backup.restore();
    await begun.promise;
    await restore.cancel();
    await assertTook(await took(restore.ended), 5000);
    expect(await restore.ended()).toMatchObject({
      ...{ status: "cancelled-by-user", message: expect.stringContaining(said) },
    });
  });

  test("and one that its worker lost leave no statement behind", async () => {
    const backup = await saved();
    await at.stopFirst();
    const { restores } = at.database.system;
    const renew: typeof restores.renew = async () => {
      throw new DomainError("database.unavailable", "The database does not answer.");
    };
    at.start({
      system: { ...at.database.system, restores: { ...restores, renew } },
      settings: { leaseSeconds: 1, renewSeconds: 0.2 },
    });
    const interrupted = Promise.withResolvers<boolean | undefined>();
    let running: AbortSignal | undefined;
    at.program = async (command, io) => {
      if (isInterruption(command)) interrupted.resolve(running?.aborted);
      if (!isRestore(command)) return DONE;
      running = io.signal;
      return await untilKilled(io);
    };
    const restore = await backup.restore();
    // The program at once, then its statement.
    expect(await interrupted.promise).toBe(true);
    expect((await restore.ended()).status).toBe("failed");
  });

  test("of all databases lets everybody in again, and gives users their passwords", async () => {
    const backup = await saved("postgresql", { dump_all: true });
    const { program, begun } = endsWhenInterrupted(({ argv }) => argv.includes("--output=/dev/null"), 0);
    let input = "";
    let interruptions = 0;
    const restored = Promise.withResolvers<void>();
    at.program = async (command, io) => {
      if (isInterruption(command)) {
        interruptions += 1;
        const result = await program(command, io);
        await restored.promise;
        await new Promise(setImmediate);
        interruptions -= 1;
        return result;
      }
      if (command.argv.includes("--set=ON_ERROR_STOP=1")) {
        // An interruption now would also end these statements, which have the same name.
        expect(interruptions).toBe(0);
        for await (const chunk of io.input ?? []) input += Buffer.from(chunk).toString();
        return DONE;
      }
      const result = await program(command, io);
      restored.resolve();
      return result;
    };
    const restore = await backup.restore();
    const io = await begun;
    await restore.cancel();
    expect(await restore.ended()).toMatchObject({
      ...{ status: "cancelled-by-user", message: expect.stringContaining("parts of its earlier data") },
    });
    expect(input).toContain("set datallowconn = true");
    expect(input).toContain("with password 's3cret-password'");
    // Its input ends early, after which it lets clients in by itself.
    for await (const _ of io.input ?? []);
  });

  test("while it looks at its file has changed nothing", async () => {
    const backup = await saved();
    const isRead = Promise.withResolvers<void>();
    const { files, ...tools } = at.tools();
    async function* endlessly() {
      for (;;) {
        yield Buffer.from("x");
        isRead.resolve();
        await new Promise(setImmediate);
      }
    }
    at.start({ tools: () => ({ ...tools, files: { ...files, read: endlessly } }), settings: { renewSeconds: 0.2 } });
    await at.stopFirst();
    const restore = await backup.restore();
    await isRead.promise;
    await restore.cancel();
    expect(await restore.ended()).toMatchObject({
      ...{ status: "cancelled-by-user", message: expect.stringContaining("Nothing had been restored") },
    });
  });
});
