import type { BackupOutcome } from "@berth/core/backup";
import { endTestBackup, testBackup, testUuid } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Control } from "./index.ts";
import { EVERYTHING, type World, world } from "./world.fixture.ts";

let at: World;
let backup: Awaited<ReturnType<typeof testBackup>>;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());
beforeEach(async () => {
  backup = await testBackup(at.db, at.stores, at.place);
});

const LEASE = { owner: "worker", leaseSeconds: 60 };
const ENDED = { message: null, finished_at: new Date() };

/** A waiting run of each kind. */
interface Waiting {
  readonly title: string;
  readonly uuid: string;
  readonly event: string;
  cancel(control?: Control): Promise<unknown>;
  claim(): Promise<unknown>;
  isCancelRequested(): Promise<boolean>;
  finish(status: BackupOutcome): Promise<boolean>;
}

async function execution(): Promise<Waiting> {
  const { backups } = at.db.system;
  const { uuid } = backup.execution;
  const end = { size_bytes: null, sha256: null, s3_uploaded: null, table_rows: null, keepsFile: false, ...ENDED };
  return {
    ...{ title: "Backup execution", uuid, event: "backup" },
    cancel: (control = at.own) => control.backups.cancelExecution(backup.database.uuid, backup.schedule.uuid, uuid),
    claim: () => claimed(uuid, async (hold) => (await backups.claim([at.place.server.id], hold))?.execution_uuid),
    isCancelRequested: async () => (await backups.renew("worker", [uuid], 60))[0]?.is_cancel_requested ?? false,
    finish: (status) => backups.finish({ uuid, owner: "worker" }, { ...end, status }),
  };
}

const restore = (kind: "restore" | "drill") => async (): Promise<Waiting> => {
  const { restores } = at.db.system;
  const uuid = testUuid();
  await endTestBackup(at.db.system, at.place.server.id, backup.execution.uuid);
  await at.stores.restores.insert({
    ...{ uuid, kind, database_name: "postgres", backup_execution_id: backup.execution.id },
    ...{ resource_id: backup.database.id, target_resource_id: backup.database.id },
  });
  return {
    ...{ title: kind === "drill" ? "Drill" : "Restore", uuid, event: kind },
    cancel: (control = at.own) => control.restores.cancel(backup.database.uuid, uuid),
    claim: () => claimed(uuid, async (hold) => (await restores.claim([at.place.server.id], hold))?.uuid),
    isCancelRequested: async () => (await restores.renew("worker", [uuid], 60))[0]?.is_cancel_requested ?? false,
    finish: (status) => restores.finish({ uuid, owner: "worker" }, { ...ENDED, status, tables: null }),
  };
};

/** Other waiting runs that it claims before are left running. */
async function claimed(
  uuid: string,
  claim: (hold: typeof LEASE & { readonly at: Date }) => Promise<string | undefined>,
): Promise<void> {
  let found = await claim({ ...LEASE, at: new Date() });
  while (found !== undefined && found !== uuid) found = await claim({ ...LEASE, at: new Date() });
  expect(found).toBe(uuid);
}

const asked = async (run: Waiting) => {
  while (!(await run.isCancelRequested()));
};
const told = async () => (await at.stores.events.list({})).map(({ type }) => type);

describe.each([
  ["a backup", execution],
  ["a restore", restore("restore")],
  ["a drill", restore("drill")],
])("cancelling %s", (_, waiting) => {
  test("that waits ends it at once, and emits an event", async () => {
    const run = await waiting();
    expect(await run.cancel()).toEqual({
      message: `${run.title} cancelled successfully.`,
      ...{ uuid: run.uuid, status: "cancelled-by-user", detail: expect.stringMatching(/^Cancelled by a user\. /) },
    });
    expect((await told()).at(-1)).toBe(`${run.event}.cancelled`);
    await expect(run.cancel()).rejects.toMatchObject({
      ...{ code: "backup.not_cancellable" },
      message: `${run.title} cannot be cancelled. Current status: cancelled-by-user`,
    });
    expect(await run.finish("success")).toBe(false);
  });

  test("that runs has its worker end it, answers then, and may be asked for again meanwhile", async () => {
    const run = await waiting();
    await run.claim();
    expect(await run.isCancelRequested()).toBe(false);
    // Opens connections beforehand, since the run ends soon.
    await Promise.all([told(), told(), told()]);
    const cancelling = Promise.allSettled([run.cancel(), run.cancel()]);
    await asked(run);
    expect((await told()).filter((type) => type === `${run.event}.cancel_requested`)).not.toEqual([]);
    expect(await run.finish("cancelled-by-user")).toBe(true);
    // The run may have ended before the second request read it.
    const late = { message: `${run.title} cannot be cancelled. Current status: cancelled-by-user` };
    const answers = (await cancelling).map((one) => (one.status === "fulfilled" ? one.value : one.reason));
    expect(answers).toContainEqual(expect.objectContaining({ status: "cancelled-by-user" }));
    for (const answer of answers) {
      expect([{ status: "cancelled-by-user" }, late]).toContainEqual(
        "status" in answer ? { status: answer.status } : { message: answer.message },
      );
    }
    expect((await told()).slice(-2)).toEqual([`${run.event}.cancel_requested`, `${run.event}.cancelled`]);
  });

  test("tells that it was faster than the request", async () => {
    const run = await waiting();
    await run.claim();
    const refused = expect(run.cancel()).rejects.toThrow(`${run.title} cannot be cancelled. Current status: success`);
    await asked(run);
    await run.finish("success");
    await refused;
  });

  test("wants the ability to start one, and is of nobody else's", async () => {
    const run = await waiting();
    const reader = at.as(backup.database.team_id, ...EVERYTHING.filter((ability) => ability !== "write"));
    await expect(run.cancel(reader)).rejects.toMatchObject({ code: "auth.missing_ability" });
    await expect(run.cancel(at.otherTeam.control)).rejects.toThrow("Database not found.");
    expect(await run.finish("success")).toBe(false);
    await run.claim();
    expect(await run.isCancelRequested()).toBe(false);
  });
});

test("what is not there is not found", async () => {
  const { database, schedule } = backup;
  const { backups, restores } = at.own;
  await expect(backups.cancelExecution(database.uuid, schedule.uuid, "x")).rejects.toThrow(
    "Backup execution not found.",
  );
  await expect(backups.cancelExecution(database.uuid, "x", "x")).rejects.toThrow("Backup configuration not found.");
  await expect(restores.cancel(database.uuid, "x")).rejects.toThrow("Restore not found.");
});
