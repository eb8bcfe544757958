/** Kinds of scheduled work. Each has a row in the worker's table of kinds. */
export const SCHEDULE_KINDS = ["scheduled_task", "backup", "docker_cleanup", "disk_check"] as const;
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number];

/** When something runs next. The database has a row for each enabled subject with a frequency. */
export interface ScheduleRecord {
  readonly kind: ScheduleKind;
  /** Id of the task, the backup or the server. */
  readonly subject_id: number;
  readonly server_id: number;
  /** As its owner wrote it. */
  readonly frequency: string;
  readonly timezone: string;
  /** Grows with every change of the frequency or of the server's zone. */
  readonly revision: number;
  readonly changed_at: Date;
  /** Whether `due_at` was computed from this frequency. A changed schedule is due at once, to be planned. */
  readonly is_planned: boolean;
  readonly due_at: Date;
}

/** The scheduler's store, across teams. */
export interface SystemScheduleStore {
  /** Those of these kinds that have a schedule due at `now`. */
  dueKinds(kinds: readonly ScheduleKind[], now: Date): Promise<readonly ScheduleKind[]>;
  /** Schedules that are due at `now`, the longest overdue first, after the cursor `after`. */
  due(
    kind: ScheduleKind,
    now: Date,
    options: { readonly take: number; readonly after?: Pick<ScheduleRecord, "due_at" | "subject_id"> | undefined },
  ): Promise<readonly ScheduleRecord[]>;
  /**
   * Sets the next due time, or ends the schedule without one. `false` if the schedule was changed or advanced since
   * it was read, so only one of several callers gets `true` for a due time.
   */
  advance(seen: ScheduleRecord, next: Date | undefined): Promise<boolean>;
  /**
   * Records that the scheduler is running. Returns since when it was not, if that is longer than `stallSeconds` and
   * was not returned before.
   */
  beat(now: Date, stallSeconds: number): Promise<Date | undefined>;
  /** Since when the scheduler has not been running, for other processes; records nothing. */
  stalledSince(now: Date, stallSeconds: number): Promise<Date | undefined>;
}
