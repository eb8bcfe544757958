import type { ResourceKind } from "../resource/resource.ts";
import type { RunLease, UnrepeatedRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

export interface ScheduledTaskRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly name: string;
  /** One argument of the shell that runs it. */
  readonly command: string;
  /** As its owner wrote it; `cronOf` parses it. */
  readonly frequency: string;
  /** The container that runs it, if there are several. */
  readonly container: string | null;
  /** Seconds. */
  readonly timeout: number;
  readonly enabled: boolean;
}
export type ScheduledTaskFields = Omit<ScheduledTaskRecord, "id" | "uuid" | keyof Timestamps>;
/** Omitted fields keep their values. */
export type ScheduledTaskChange = {
  readonly [Field in keyof ScheduledTaskFields]?: ScheduledTaskFields[Field] | undefined;
};

export const TASK_EXECUTION_STATUSES = ["running", "success", "failed"] as const;
export type TaskExecutionStatus = (typeof TASK_EXECUTION_STATUSES)[number];

export interface ScheduledTaskExecutionRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly status: TaskExecutionStatus;
  /** Its output. */
  readonly message: string | null;
  /** Why it could not run, for reasons other than the command itself. */
  readonly error_details: string | null;
  /** Exit code of its shell; `null` while it runs and if it did not exit by itself. */
  readonly exit_code: number | null;
  readonly retry_count: number;
  /** The due time; `null` for a manual run. */
  readonly due_at: Date | null;
  readonly started_at: Date;
  readonly finished_at: Date | null;
}

export interface ScheduledTaskStore {
  /** Sorted by id. */
  list(resourceId: number, paging?: Paging): Promise<Page<ScheduledTaskRecord>>;
  find(resourceId: number, uuid: string): Promise<ScheduledTaskRecord | undefined>;
  insert(resourceId: number, uuid: string, task: ScheduledTaskFields): Promise<ScheduledTaskRecord>;
  update(resourceId: number, uuid: string, change: ScheduledTaskChange): Promise<ScheduledTaskRecord | undefined>;
  /** Also deletes its executions. */
  delete(resourceId: number, uuid: string): Promise<boolean>;
  /** Newest first. */
  executions(taskId: number, paging?: Paging): Promise<Page<ScheduledTaskExecutionRecord>>;
  findExecution(taskId: number, uuid: string): Promise<ScheduledTaskExecutionRecord | undefined>;
  /** Requests a run now and wakes the workers. `undefined` if one is running or waiting. */
  request(
    resourceId: number,
    taskUuid: string,
    execution: { readonly uuid: string; readonly at: Date },
  ): Promise<ScheduledTaskExecutionRecord | undefined>;
}

/** An execution that a worker has claimed, with its task. */
export interface ClaimedTask {
  readonly execution_uuid: string;
  readonly task_uuid: string;
  readonly task_name: string;
  readonly command: string;
  readonly container: string | null;
  /** Seconds. */
  readonly timeout: number;
  readonly resource_id: number;
  readonly resource_uuid: string;
  readonly resource_kind: ResourceKind;
  readonly team_id: number;
  readonly server_id: number;
}

/** Store of executions for scheduler and workers, across teams. */
export interface SystemScheduledTaskStore extends UnrepeatedRuns<ClaimedTask> {
  /**
   * Queues a run at a due time. While one runs, the due time is recorded as skipped, with an event. `undefined` if
   * the task is disabled or being deleted.
   */
  begin(
    taskId: number,
    dueAt: Date,
  ): Promise<
    | { readonly uuid: string; readonly name: string; readonly team_id: number; readonly resource_uuid: string }
    | undefined
  >;
  /** Appends to its output. */
  appendOutput(hold: RunLease, text: string): Promise<void>;
  /** Ends an execution of this owner and writes its event; `false` if the owner has lost it or it has ended already. */
  finish(
    hold: RunLease,
    end: Pick<ScheduledTaskExecutionRecord, "exit_code" | "error_details"> & {
      readonly status: Exclude<TaskExecutionStatus, "running">;
      readonly finished_at: Date;
    },
  ): Promise<boolean>;
  /** Deletes all but the newest executions of each task, in batches. Returns their number. */
  prune(kept: number): Promise<number>;
}
