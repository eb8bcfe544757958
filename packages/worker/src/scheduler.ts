import { isDatabaseUnavailable } from "@berth/core";
import type { ScheduleKind, ScheduleRecord, SystemStores } from "@berth/core/ports";
import { scheduleStep } from "@berth/core/schedule";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { createLoops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";

/** A kind of scheduled work. The scheduler only queues a due run; a worker for that kind's queue executes it. */
export interface ScheduledKind {
  /**
   * Runs in the transaction that advances the schedule: queues the work, with no effects outside the database. Returns
   * `undefined` when nothing is to be done, such as for a subject that is being deleted.
   */
  begin(stores: SystemStores, due: DueRun): Promise<ScheduledSubject | undefined>;
}

export interface DueRun {
  readonly subjectId: number;
  readonly serverId: number;
  /** Identifies the run: no other run of the subject has the same. */
  readonly dueAt: Date;
}

/** The object that a missed run is reported about. */
export interface ScheduledSubject {
  readonly team_id: number;
  /** Uuid of the resource that it belongs to. */
  readonly resource_uuid: string | null;
  /** Uuid of the object itself. */
  readonly uuid: string;
  readonly name: string;
}

export interface SchedulerDeps extends Pick<WorkerDeps, "stores" | "clock" | "logger"> {
  readonly settings: Pick<WorkerSettings, "scheduleSeconds" | "schedulePeriodSeconds">;
  readonly kinds: Readonly<Partial<Record<ScheduleKind, ScheduledKind>>>;
}

export interface Scheduler {
  start(): void;
  stop(): Promise<void>;
  /** Queues the runs that are due. */
  look(): Promise<void>;
  /** Reports any scheduler, also on another control plane, that has stopped working. */
  watch(): Promise<void>;
}

/** Several schedulers may share a database: each due run is queued once. */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { stores, clock, logger, settings, kinds } = deps;
  const stallSeconds = STALL_PERIODS * settings.schedulePeriodSeconds;

  let beatAt: Date | undefined;

  const look = async () => {
    await beat();
    // The first of these only plans what was scheduled lately, and its first run may be due already.
    for (let pass = 0; pass < 2; pass += 1) {
      // `keys` forgets that the keys are kinds.
      const due = await stores.schedules.dueKinds(Object.keys(kinds) as ScheduleKind[], clock.now());
      if (due.length === 0) return;
      for (const kind of due) await lookAt(kind, kinds[kind]);
    }
  };

  /** Each is a write: often enough to show that the scheduler works, and no more. */
  const beat = async () => {
    const now = clock.now();
    const isRecent =
      beatAt !== undefined && Math.abs(now.getTime() - beatAt.getTime()) < settings.schedulePeriodSeconds * 500;
    if (isRecent) return;
    await stores.transaction(async (tx) => {
      await reportStall(tx, await tx.schedules.beat(now, stallSeconds));
    });
    beatAt = now;
  };

  const lookAt = async (kind: ScheduleKind, work: ScheduledKind | undefined) => {
    if (work === undefined) return;
    const now = clock.now();
    let after: ScheduleRecord | undefined;
    do {
      const due: readonly ScheduleRecord[] = await stores.schedules.due(kind, now, { take: BATCH, after });
      after = due.length === BATCH ? due.at(-1) : undefined;
      for (const schedule of due) {
        if (loops.signal.aborted) return;
        await step(work, schedule, now);
      }
    } while (after !== undefined);
  };

  /** A failed run stays due and does not delay others. */
  const step = async (work: ScheduledKind, schedule: ScheduleRecord, now: Date) => {
    try {
      await stores.transaction((tx) => advance(tx, work, schedule, now));
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      logger.error("A due run could not be queued; Berth will retry.", { ...schedule, error });
    }
  };

  const watch = () =>
    stores.transaction(async (tx) => {
      await reportStall(tx, await tx.schedules.stalledSince(clock.now(), stallSeconds));
    });

  const reportStall = async (tx: SystemStores, since: Date | undefined) => {
    if (since === undefined) return;
    const payload = { since: since.toISOString(), until: clock.now().toISOString() };
    logger.warn("The scheduler did not work for a while.", payload);
    await tx.forTeam(ROOT_TEAM_ID).events.append({ type: "scheduler.stalled", resource_uuid: null, payload });
  };

  /** All schedules are due at the beginning of a minute. */
  const untilNextLook = () => Math.min(settings.scheduleSeconds, 60 - ((clock.now().getTime() / 1000) % 60) + 0.01);

  // Separate loops, so that each can report that the other hangs.
  const loops = createLoops(logger, [
    { title: "The scheduler", work: look, seconds: untilNextLook },
    { title: "The watch over the scheduler", work: watch, seconds: () => settings.schedulePeriodSeconds },
  ]);
  return { look, watch, start: () => loops.start(), stop: () => loops.stop() };
}

async function advance(tx: SystemStores, work: ScheduledKind, schedule: ScheduleRecord, now: Date): Promise<void> {
  const { run, missed, next } = scheduleStep(schedule, now);
  if (!(await tx.schedules.advance(schedule, next)) || run === undefined) return;
  const due = { subjectId: schedule.subject_id, serverId: schedule.server_id, dueAt: run };
  const subject = await work.begin(tx, due);
  if (subject === undefined || missed === undefined) return;
  await tx.forTeam(subject.team_id).events.append({
    type: "schedule.missed",
    resource_uuid: subject.resource_uuid,
    payload: {
      kind: schedule.kind,
      subject_uuid: subject.uuid,
      subject_name: subject.name,
      due_at: missed.due_at.toISOString(),
      skipped: missed.skipped,
    },
  });
}

const BATCH = 200;
const STALL_PERIODS = 3;
