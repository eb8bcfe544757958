/** Kinds of scheduled work. Each has a row in the worker's table of kinds. */
export const SCHEDULE_KINDS = ["scheduled_task", "backup", "docker_cleanup", "disk_check"] as const;
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number];

/** When something runs again. The database keeps a row for each subject that has a frequency and is enabled. */
export interface ScheduleRecord {
  readonly kind: ScheduleKind;
  /** Identifier of the task, the backup or the server. */
  readonly subject_id: number;
  readonly server_id: number;
  /** As its owner wrote it. */
  readonly frequency: string;
  readonly timezone: string;
  /** Grows with every change of the frequency or of the server's zone. */
  readonly revision: number;
  readonly changed_at: Date;
  /** Whether `due_at` is a time of this frequency. What was changed is not planned yet, and due for that at once. */
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
   * Moves a schedule on to its next time, or ends it where there is none. `false` when it was changed or moved on since
   * it was read: of many who see one due time, one is answered `true`.
   */
  advance(seen: ScheduleRecord, next: Date | undefined): Promise<boolean>;
  /**
   * The scheduler is at work. Answers since when it was not, if that is longer than `stallSeconds` and was not answered
   * before.
   */
  beat(now: Date, stallSeconds: number): Promise<Date | undefined>;
  /** The same question of someone who does not do its work. */
  stalledSince(now: Date, stallSeconds: number): Promise<Date | undefined>;
}
