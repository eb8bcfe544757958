import { z } from "zod";
import { lenient } from "../input.ts";
import type { CommandRecord } from "../ports/command.ts";
import { TASK_EXECUTION_STATUSES } from "../ports/scheduled-task.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { TaskCommand, TaskContainer } from "./scheduled-task.ts";

/** Limits per resource. */
export const RUNNING_COMMANDS_MAX = 10;
export const COMMANDS_KEPT = 100;
const TIMEOUT_SECONDS_MAX = 604_800; // A week.
const TIMEOUT_SECONDS = 3600;

export const CommandCreate = z.strictObject({
  command: TaskCommand,
  container: TaskContainer,
  timeout: lenient(z.int().min(1).max(TIMEOUT_SECONDS_MAX))
    .optional()
    .describe(`Seconds after which it is ended. Default ${TIMEOUT_SECONDS}.`),
});
export type CommandCreate = z.infer<typeof CommandCreate>;

export const Command = z
  .object({
    uuid: z.string(),
    command: z.string(),
    container: z.string().nullable(),
    timeout: z.int().describe("Seconds."),
    status: z.enum(TASK_EXECUTION_STATUSES),
    output: z.string().describe("What it printed. It only grows while the command runs."),
    exit_code: z.int().nullable().describe("Null while it runs, and when something else ended it."),
    error_details: z.string().nullable().describe("Why it failed."),
    created_at: Timestamp,
    finished_at: Timestamp.nullable(),
  })
  .meta({ id: "Command", description: "A command that was run once in an application or a service." });
export type Command = z.infer<typeof Command>;

export const newCommand = ({ command, container, timeout }: CommandCreate) => ({
  command,
  container: container ?? null,
  timeout: timeout ?? TIMEOUT_SECONDS,
});

export const commandView = (record: CommandRecord): Command => ({
  uuid: record.uuid,
  command: record.command,
  container: record.container,
  timeout: record.timeout,
  status: record.status,
  output: record.message ?? "",
  exit_code: record.exit_code,
  error_details: record.error_details,
  created_at: timestamp(record.created_at),
  finished_at: timestampOrNull(record.finished_at),
});
