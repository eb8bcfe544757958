import type { ScheduleRecord } from "../ports/schedule.ts";
import { timesOf } from "./cron.ts";

/** How late a run may begin before it counts as missed. Cron's own resolution. */
export const LATE_SECONDS_MAX = 60;
/** Limit of counting, since a long downtime would miss very many runs. */
export const MISSED_COUNT_MAX = 100;

/** Due runs that were missed. */
export interface MissedRuns {
  /** The first missed time; it runs now. */
  readonly due_at: Date;
  /** Number of later missed times, which do not run. At most `MISSED_COUNT_MAX`. */
  readonly skipped: number;
}

export interface ScheduleStep {
  /** The due time to run now. */
  readonly run: Date | undefined;
  readonly missed: MissedRuns | undefined;
  /** `undefined`: never again. */
  readonly next: Date | undefined;
}

type Scheduled = Pick<ScheduleRecord, "frequency" | "timezone" | "is_planned" | "changed_at" | "due_at">;

/**
 * What to do with a schedule now, and when it is due next. It runs once, however many due times have passed. A
 * changed schedule is planned from its change on, if that is recent, else from now on.
 */
export function scheduleStep(schedule: Scheduled, now: Date): ScheduleStep {
  const after = timesOf(schedule.frequency, schedule.timezone);
  if (!schedule.is_planned) {
    const lateMs = now.getTime() - schedule.changed_at.getTime();
    const isRecent = lateMs >= 0 && lateMs <= LATE_SECONDS_MAX * 1000;
    return { run: undefined, missed: undefined, next: after(isRecent ? schedule.changed_at : now) };
  }
  const { due_at } = schedule;
  const isLate = now.getTime() - due_at.getTime() > LATE_SECONDS_MAX * 1000;
  if (!isLate) return { run: due_at, missed: undefined, next: after(due_at) };
  let skipped = 0;
  for (let time = after(due_at); time !== undefined && time <= now; time = after(time)) {
    skipped += 1;
    if (skipped === MISSED_COUNT_MAX) break;
  }
  return { run: due_at, missed: { due_at, skipped }, next: after(now) };
}
