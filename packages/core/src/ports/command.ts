import type { Page, Paging } from "./records.ts";
import type { ScheduledTaskExecutionRecord, ScheduledTaskRecord } from "./scheduled-task.ts";

/** A command that is run once: a task without a schedule, and its only execution. */
export type CommandRecord = Pick<ScheduledTaskRecord, "uuid" | "command" | "container" | "timeout" | "created_at"> &
  Pick<ScheduledTaskExecutionRecord, "status" | "message" | "exit_code" | "error_details" | "finished_at">;

export interface NewCommand extends Pick<ScheduledTaskRecord, "uuid" | "command" | "container" | "timeout"> {
  readonly execution_uuid: string;
  readonly at: Date;
}

export interface CommandStore {
  /** Newest first. */
  list(resourceId: number, paging?: Paging): Promise<Page<CommandRecord>>;
  find(resourceId: number, uuid: string): Promise<CommandRecord | undefined>;
  countRunning(resourceId: number): Promise<number>;
  /** Asks for the run and wakes the workers. Of what has ended, only the newest `kept` stay. */
  insert(resourceId: number, command: NewCommand, kept: number): Promise<CommandRecord>;
  /** One that runs is ended. */
  delete(resourceId: number, uuid: string): Promise<boolean>;
}
