import { Message } from "@berth/core";
import {
  KINDS_WITH_TASKS,
  ScheduledTask,
  ScheduledTaskCreate,
  ScheduledTaskExecution,
  ScheduledTaskRun,
  ScheduledTaskUpdate,
} from "@berth/core/schedule";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource, perKind } from "./per-kind.ts";

const task_uuid = z.string().describe("The task's identifier.");

export const scheduledTasks = perKind(KINDS_WITH_TASKS, (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/scheduled-tasks",
    operationId: "list-scheduled-tasks-by-{kind}-uuid",
    summary: "List scheduled tasks",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(ScheduledTask))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.scheduledTasks.list({ kind, uuid }, page), page),
    ]),

  create: onResource(kind, {
    method: "POST",
    path: "/scheduled-tasks",
    operationId: "create-scheduled-task-by-{kind}-uuid",
    summary: "Create a scheduled task",
    ability: "write",
    status: 201,
    input: ScheduledTaskCreate,
  })
    .output(ScheduledTask)
    .mutation(({ ctx, input: { uuid, ...task } }) => ctx.control.scheduledTasks.create({ kind, uuid }, task)),

  update: onResource(kind, {
    method: "PATCH",
    path: "/scheduled-tasks/{task_uuid}",
    operationId: "update-scheduled-task-by-{kind}-uuid",
    summary: "Change a scheduled task",
    description: "Omitted fields keep their values.",
    ability: "write",
    input: ScheduledTaskUpdate.extend({ task_uuid }),
  })
    .output(ScheduledTask)
    .mutation(({ ctx, input: { uuid, task_uuid, ...change } }) =>
      ctx.control.scheduledTasks.update({ kind, uuid }, task_uuid, change),
    ),

  delete: onResource(kind, {
    method: "DELETE",
    path: "/scheduled-tasks/{task_uuid}",
    operationId: "delete-scheduled-task-by-{kind}-uuid",
    summary: "Delete a scheduled task",
    description: "With its executions.",
    ability: "write",
    input: z.strictObject({ task_uuid }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, task_uuid } }) => ctx.control.scheduledTasks.delete({ kind, uuid }, task_uuid)),

  run: onResource(kind, {
    method: "POST",
    path: "/scheduled-tasks/{task_uuid}/run",
    operationId: "run-scheduled-task-by-{kind}-uuid",
    summary: "Run a scheduled task now",
    description: "Also outside its schedule and while it is disabled. Refused while it runs.",
    ability: "write",
    errors: ["resource.already_running"],
    input: z.strictObject({ task_uuid }),
  })
    .output(ScheduledTaskRun)
    .mutation(({ ctx, input: { uuid, task_uuid } }) => ctx.control.scheduledTasks.run({ kind, uuid }, task_uuid)),

  execution: onResource(kind, {
    method: "GET",
    path: "/scheduled-tasks/{task_uuid}/executions/{task_execution_uuid}",
    operationId: "get-scheduled-task-execution-by-{kind}-uuid",
    summary: "Get an execution of a scheduled task",
    description: "While it runs, output is appended to `message`.",
    ability: "read",
    input: z.strictObject({ task_uuid, task_execution_uuid: z.string().describe("The execution's identifier.") }),
  })
    .output(ScheduledTaskExecution)
    .query(({ ctx, input: { uuid, task_uuid, task_execution_uuid } }) =>
      ctx.control.scheduledTasks.execution({ kind, uuid }, task_uuid, task_execution_uuid),
    ),

  executions: onResource(kind, {
    method: "GET",
    path: "/scheduled-tasks/{task_uuid}/executions",
    operationId: "list-scheduled-task-executions-by-{kind}-uuid",
    summary: "List the executions of a scheduled task",
    description: "Newest first.",
    ability: "read",
    input: z.strictObject({ task_uuid, ...paging }),
  })
    .output(z.array(ScheduledTaskExecution))
    .query(async ({ ctx, input: { uuid, task_uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.scheduledTasks.executions({ kind, uuid }, task_uuid, page), page),
    ]),
}));
