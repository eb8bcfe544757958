import type { Page, Paging, Timestamps } from "./records.ts";

export interface ScheduledTaskRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  /** One argument of the shell that runs it. */
  readonly command: string;
  /** As its owner wrote it: `cronOf` reads it. */
  readonly frequency: string;
  /** Where several containers run: the one that runs it. */
  readonly container: string | null;
  /** Seconds. */
  readonly timeout: number;
  readonly enabled: boolean;
}
export type ScheduledTaskFields = Omit<ScheduledTaskRecord, "id" | "uuid" | keyof Timestamps>;
/** What is left out stays as it is. */
export type ScheduledTaskChange = {
  readonly [Field in keyof ScheduledTaskFields]?: ScheduledTaskFields[Field] | undefined;
};

export const TASK_EXECUTION_STATUSES = ["running", "success", "failed"] as const;
export type TaskExecutionStatus = (typeof TASK_EXECUTION_STATUSES)[number];

export interface ScheduledTaskExecutionRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly status: TaskExecutionStatus;
  /** What it printed. */
  readonly message: string | null;
  /** Why it could not run, where that is not the command's own doing. */
  readonly error_details: string | null;
  readonly retry_count: number;
  readonly started_at: Date;
  readonly finished_at: Date | null;
}

export interface ScheduledTaskStore {
  /** By id. */
  list(resourceId: number, paging?: Paging): Promise<Page<ScheduledTaskRecord>>;
  find(resourceId: number, uuid: string): Promise<ScheduledTaskRecord | undefined>;
  insert(resourceId: number, uuid: string, task: ScheduledTaskFields): Promise<ScheduledTaskRecord>;
  update(resourceId: number, uuid: string, change: ScheduledTaskChange): Promise<ScheduledTaskRecord | undefined>;
  /** Its executions go with it. */
  delete(resourceId: number, uuid: string): Promise<boolean>;
  /** Newest first. */
  executions(taskId: number, paging?: Paging): Promise<Page<ScheduledTaskExecutionRecord>>;
}

/** What the scheduler writes of what it runs, across teams. */
export interface SystemScheduledTaskStore {
  /** `undefined` when the task was deleted meanwhile. */
  startExecution(
    taskId: number,
    execution: { readonly uuid: string; readonly retry_count: number; readonly started_at: Date },
  ): Promise<ScheduledTaskExecutionRecord | undefined>;
  /** Only of one that runs: what has ended never changes again. `false` otherwise. */
  finishExecution(
    uuid: string,
    end: Pick<ScheduledTaskExecutionRecord, "message" | "error_details"> & {
      readonly status: Exclude<TaskExecutionStatus, "running">;
      readonly finished_at: Date;
    },
  ): Promise<boolean>;
}
