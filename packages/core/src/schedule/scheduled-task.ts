import { z } from "zod";
import { lenient } from "../input.ts";
import { ResourceName } from "../name.ts";
import {
  type ScheduledTaskExecutionRecord,
  type ScheduledTaskFields,
  type ScheduledTaskRecord,
  TASK_EXECUTION_STATUSES,
} from "../ports/scheduled-task.ts";
import type { ResourceKind, ResourceRef } from "../resource/resource.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { Frequency } from "./cron.ts";

/** Kinds of resources that run their own tasks. */
export const KINDS_WITH_TASKS = ["application", "service"] as const satisfies readonly ResourceKind[];
export type TaskOwnerRef = ResourceRef & { readonly kind: (typeof KINDS_WITH_TASKS)[number] };

/** Limit per resource. */
export const SCHEDULED_TASKS_MAX = 100;
const COMMAND_LENGTH_MAX = 65_536; // Half of Linux's limit for one argument (MAX_ARG_STRLEN).
const TIMEOUT_SECONDS_MAX = 2_147_483_647; // The largest value of a 32-bit column.
const TIMEOUT_SECONDS = 300;

const FIELDS = {
  name: ResourceName.describe("Shown in lists."),
  command: z
    .string()
    .min(1, "This field is required.")
    .max(COMMAND_LENGTH_MAX, `At most ${COMMAND_LENGTH_MAX} characters.`)
    .describe("Run by the container's own shell."),
  frequency: Frequency,
};

const OPTIONAL = {
  container: lenient(z.string().max(255, "At most 255 characters.").nullable())
    .optional()
    .describe("The container that runs it, if there are several. It must exist."),
  timeout: lenient(z.int().min(1).max(TIMEOUT_SECONDS_MAX))
    .optional()
    .describe(`Time limit in seconds. Default ${TIMEOUT_SECONDS}.`),
  enabled: lenient(z.boolean()).optional().describe("Whether the task is enabled. Default true."),
};

export const ScheduledTaskCreate = z.strictObject({ ...FIELDS, ...OPTIONAL });
export type ScheduledTaskCreate = z.infer<typeof ScheduledTaskCreate>;

/** Omitted fields keep their values. */
export const ScheduledTaskUpdate = z.strictObject({
  name: FIELDS.name.optional(),
  command: FIELDS.command.optional(),
  frequency: FIELDS.frequency.optional(),
  ...OPTIONAL,
});
export type ScheduledTaskUpdate = z.infer<typeof ScheduledTaskUpdate>;

export const ScheduledTask = z
  .object({
    uuid: z.string(),
    enabled: z.boolean(),
    name: z.string(),
    command: z.string(),
    frequency: z.string().describe("As its owner wrote it: a cron expression or a name such as `daily`."),
    container: z.string().nullable(),
    timeout: z.int().describe("Seconds."),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "ScheduledTask", description: "A command that an application or a service runs on a schedule." });
export type ScheduledTask = z.infer<typeof ScheduledTask>;

export const ScheduledTaskExecution = z
  .object({
    uuid: z.string(),
    status: z.enum(TASK_EXECUTION_STATUSES),
    message: z.string().nullable().describe("What the command printed."),
    error_details: z.string().nullable().describe("Why it could not run, for reasons other than the command itself."),
    exit_code: z
      .int()
      .nullable()
      .describe("Exit code of the command; null while it runs, and if it did not exit by itself."),
    retry_count: z.int(),
    due_at: Timestamp.nullable().describe("The due time; null for a manual run."),
    duration: z
      .string()
      .nullable()
      .describe("Seconds with two decimals; null while it runs.")
      .meta({
        examples: ["1.50"],
      }),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "ScheduledTaskExecution", description: "One run of a scheduled task." });
export type ScheduledTaskExecution = z.infer<typeof ScheduledTaskExecution>;

export const ScheduledTaskRun = z
  .object({ message: z.string(), execution_uuid: z.string().describe("Identifier of the execution.") })
  .meta({ id: "ScheduledTaskRun", description: "A requested run." });
export type ScheduledTaskRun = z.infer<typeof ScheduledTaskRun>;

export const newScheduledTask = (sent: ScheduledTaskCreate): ScheduledTaskFields => ({
  name: sent.name,
  command: sent.command,
  frequency: sent.frequency,
  container: sent.container ?? null,
  timeout: sent.timeout ?? TIMEOUT_SECONDS,
  enabled: sent.enabled ?? true,
});

export const scheduledTaskView = (task: ScheduledTaskRecord): ScheduledTask => ({
  uuid: task.uuid,
  enabled: task.enabled,
  name: task.name,
  command: task.command,
  frequency: task.frequency,
  container: task.container,
  timeout: task.timeout,
  created_at: timestamp(task.created_at),
  updated_at: timestamp(task.updated_at),
});

export const scheduledTaskExecutionView = (execution: ScheduledTaskExecutionRecord): ScheduledTaskExecution => ({
  uuid: execution.uuid,
  status: execution.status,
  message: execution.message,
  error_details: execution.error_details,
  exit_code: execution.exit_code,
  retry_count: execution.retry_count,
  due_at: timestampOrNull(execution.due_at),
  duration: durationOf(execution),
  started_at: timestamp(execution.started_at),
  finished_at: timestampOrNull(execution.finished_at),
  created_at: timestamp(execution.created_at),
  updated_at: timestamp(execution.updated_at),
});

function durationOf({ started_at, finished_at }: ScheduledTaskExecutionRecord): string | null {
  if (finished_at === null) return null;
  // The clock may have been set back in between.
  return Math.max(0, (finished_at.getTime() - started_at.getTime()) / 1000).toFixed(2);
}
