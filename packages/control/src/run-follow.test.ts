import type { JobRecord } from "@berth/core/ports";
import { jobView } from "@berth/core/server";
import { testBackup, testDatabaseResource, testUuid, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { followRun } from "./run-follow.ts";
import { EVERYTHING, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const HOLD = { owner: "worker", leaseSeconds: 60 };
/** Below the time after which a follower reads again without a notification. */
const NOTIFIED_MS = 4000;

const open = new Set<AbortController>();
beforeEach(() => {
  for (const abort of open) abort.abort();
  open.clear();
});

/** The next record that a follower gets; `undefined` after the end. */
async function follower<T>(follow: (signal: AbortSignal) => Promise<AsyncIterable<T>>) {
  const abort = new AbortController();
  open.add(abort);
  const followed = (await follow(abort.signal))[Symbol.asyncIterator]();
  const next = async (): Promise<T | undefined> => {
    const { value, done } = await followed.next();
    return done ? undefined : value;
  };
  return { next, stop: () => abort.abort() };
}

/** What the follower gets for a change: by a notification, sooner than it would read again without one. */
async function notified<T>({ next }: { readonly next: () => Promise<T> }, change: () => Promise<unknown>): Promise<T> {
  const changed = next();
  await change();
  // Only from here, since a busy machine may need long for the change itself.
  const written = performance.now();
  const run = await changed;
  expect(performance.now() - written).toBeLessThan(NOTIFIED_MS);
  return run;
}

async function queuedJob() {
  const { server } = at.place;
  const [job] = await at.stores.jobs.request([
    { uuid: testUuid(), type: "server.install_engine", subject: { ...server, type: "server" } },
  ]);
  if (job === undefined) throw new Error("No job.");
  return job;
}

async function claimedJob() {
  const claimed = await at.db.system.jobs.claim(["server.install_engine"], [at.place.server.id], HOLD);
  if (claimed === undefined) throw new Error("It was queued above.");
  return claimed.lease;
}

describe("a followed job", () => {
  test("is sent at each change, by a notification, until it has ended", async () => {
    const { jobs } = at.db.system;
    const { uuid } = await queuedJob();
    const followed = await follower((signal) => at.own.jobs.follow(uuid, signal));
    expect(await followed.next()).toMatchObject({ uuid, status: "queued", log: null });
    const claiming = Promise.withResolvers<Awaited<ReturnType<typeof claimedJob>>>();
    const claimed = await notified(followed, async () => claiming.resolve(await claimedJob()));
    expect(claimed).toMatchObject({ status: "in_progress", attempts: 1 });
    const lease = await claiming.promise;
    const logged = await notified(followed, () => jobs.writeLog(lease, "one\ntwo"));
    expect(logged).toMatchObject({ log: "one\ntwo" });
    const step = { name: "connect", result: "passed", message: "It answers." } as const;
    const progressed = await notified(followed, () => jobs.writeSteps(lease, [step]));
    expect(progressed).toMatchObject({ steps: [{ name: "connect" }], log: "one\ntwo" });
    const ended = await notified(followed, () => jobs.finish(lease, "failed", "No way."));
    expect(ended).toMatchObject({ status: "failed", error: "No way." });
    expect(await followed.next()).toBeUndefined();
  });

  test("that has ended is sent once", async () => {
    const { uuid } = await queuedJob();
    await at.db.system.jobs.finish(await claimedJob(), "finished", null);
    const { next } = await follower((signal) => at.own.jobs.follow(uuid, signal));
    expect(await next()).toMatchObject({ status: "finished" });
    expect(await next()).toBeUndefined();
  });

  test("is not sent again when the same output is saved again", async () => {
    const { jobs } = at.db.system;
    const { uuid } = await queuedJob();
    const lease = await claimedJob();
    await jobs.writeLog(lease, "one");
    const context = {
      scope: { teamId: at.place.server.team_id, abilities: EVERYTHING, actor: { type: "system", name: "test" } },
      stores: at.stores,
    } as const;
    const read: JobRecord[] = [];
    const find = async () => {
      const job = await at.stores.jobs.find(uuid);
      if (job !== undefined) read.push(job);
      return job;
    };
    const run = { title: "Job", uuid, find, view: jobView, isOver: () => false };
    const { next } = await follower((signal) => followRun(context, run, signal));
    expect(await next()).toMatchObject({ log: "one" });
    const changed = next();
    const { length } = read;
    await jobs.writeLog(lease, "one");
    await until(() => read.length > length, { what: "the same output is read again" });
    await jobs.writeLog(lease, "one\ntwo");
    expect(await changed).toMatchObject({ log: "one\ntwo" });
    await jobs.finish(lease, "finished", null);
  });

  test("says why a removal waits, and no longer when it continues", async () => {
    const database = await testDatabaseResource(at.stores, at.place);
    const subject = { type: "resource.delete", subject_id: database.id } as const;
    const [job] = await at.stores.jobs.request([
      { uuid: testUuid(), type: "resource.delete", subject: { ...database, type: "database" } },
    ]);
    const followed = await follower((signal) => at.own.jobs.follow(job?.uuid ?? "", signal));
    await followed.next();
    for (const [work, seen] of [
      [() => at.db.system.jobs.begin(subject), { status: "in_progress", attempts: 1 }],
      [() => at.db.system.jobs.note(subject, "Not reached."), { error: "Not reached." }],
      [() => at.db.system.jobs.begin(subject), { attempts: 2 }],
    ] as const) {
      expect(await notified(followed, work)).toMatchObject(seen);
    }
    const over = followed.next();
    followed.stop();
    expect(await over).toBeUndefined();
  });

  test("of nobody, or of another team, is not found before anything is sent", async () => {
    const { signal } = new AbortController();
    const { uuid } = await queuedJob();
    await expect(at.own.jobs.follow("x", signal)).rejects.toThrow("Job not found.");
    await expect(at.otherTeam.control.jobs.follow(uuid, signal)).rejects.toThrow("Job not found.");
    const writer = at.as(at.place.server.team_id, ...EVERYTHING.filter((ability) => ability !== "read"));
    await expect(writer.jobs.follow(uuid, signal)).rejects.toMatchObject({ code: "auth.missing_ability" });
    await at.db.system.jobs.finish(await claimedJob(), "finished", null);
  });

  test("is followed only while the token works", async () => {
    const { uuid } = await queuedJob();
    const token = await at.own.tokens.create({ name: "reader", abilities: ["read"] });
    const { next } = await follower((signal) => at.asToken(token).jobs.follow(uuid, signal));
    expect(await next()).toMatchObject({ status: "queued" });
    const over = next();
    await at.own.tokens.revoke(token.id);
    expect(await over).toBeUndefined();
    await at.db.system.jobs.finish(await claimedJob(), "finished", null);
  });
});

describe("a followed backup", () => {
  test("is sent at each step and with what it has written, until it has ended", async () => {
    const { backups } = at.db.system;
    const { database, schedule, execution } = await testBackup(at.db, at.stores, at.place);
    const { uuid } = execution;
    const ref = { uuid: database.uuid, scheduled_backup_uuid: schedule.uuid, execution_uuid: uuid };
    const followed = await follower((signal) => at.own.backups.followExecution(ref, signal));
    expect(await followed.next()).toMatchObject({ uuid, status: "running", step: "waiting" });
    const hold = { uuid, owner: "worker" };
    const none = { message: null, size_bytes: null, sha256: null, s3_uploaded: null, table_rows: null };
    for (const [work, seen] of [
      [
        () => backups.claim([at.place.server.id], { ...HOLD, at: new Date() }),
        { step: "dumping", written_bytes: null },
      ],
      [() => backups.progress(hold, { step: "dumping", written_bytes: 5 }), { step: "dumping", written_bytes: 5 }],
      [
        () => at.stores.backups.requestCancel(schedule.id, uuid, new Date()),
        { cancel_requested_at: expect.any(String) },
      ],
      [
        () => backups.finish(hold, { ...none, status: "failed", keepsFile: false, finished_at: new Date() }),
        { status: "failed", step: null },
      ],
    ] as const) {
      expect(await notified(followed, work)).toMatchObject(seen);
    }
    expect(await followed.next()).toBeUndefined();
    const { signal } = new AbortController();
    await expect(at.own.backups.followExecution({ ...ref, execution_uuid: "x" }, signal)).rejects.toThrow(
      "Backup execution not found.",
    );
    await expect(at.otherTeam.control.backups.followExecution(ref, signal)).rejects.toThrow("Database not found.");
  });
});

describe.each(["restore", "drill"] as const)("a followed %s", (kind) => {
  test("is sent at each step, until it has ended", async () => {
    const { restores } = at.db.system;
    const { database, execution } = await testBackup(at.db, at.stores, at.place);
    const uuid = testUuid();
    await at.stores.restores.insert({
      ...{ uuid, kind, database_name: "postgres", backup_execution_id: execution.id },
      ...{ resource_id: database.id, target_resource_id: database.id },
    });
    const followed = await follower((signal) => at.own.restores.follow(database.uuid, uuid, signal));
    expect(await followed.next()).toMatchObject({ uuid, kind, status: "running", step: "waiting" });
    const hold = { uuid, owner: "worker" };
    for (const [work, seen] of [
      [() => restores.claim([at.place.server.id], { ...HOLD, at: new Date() }), { step: "checking" }],
      [() => restores.progress(hold, "restoring"), { step: "restoring" }],
      [
        () => at.stores.restores.requestCancel(database.id, uuid, new Date()),
        { cancel_requested_at: expect.any(String) },
      ],
      [
        () => restores.finish(hold, { status: "success", message: null, tables: [], finished_at: new Date() }),
        { status: "success", step: null },
      ],
    ] as const) {
      expect(await notified(followed, work)).toMatchObject(seen);
    }
    expect(await followed.next()).toBeUndefined();
    const { signal } = new AbortController();
    await expect(at.own.restores.follow(database.uuid, "x", signal)).rejects.toThrow("Restore not found.");
    await expect(at.otherTeam.control.restores.follow(database.uuid, uuid, signal)).rejects.toThrow(
      "Database not found.",
    );
  });
});
