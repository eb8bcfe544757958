import type { ClaimedTask } from "@berth/core/ports";
import { createHeldRunner, type HeldRunner, pruning } from "./held-runs.ts";
import type { Pulse } from "./pulse.ts";
import { runTask } from "./scheduled-task.ts";
import type { ValidationDeps } from "./server-validation.ts";

/** Runs the executions of scheduled tasks that wait, on the servers of this control plane. */
export function createTaskRunner(deps: ValidationDeps, pulse: Pulse): HeldRunner {
  const { settings } = deps;
  const { scheduledTasks } = deps.stores;
  return createHeldRunner<ClaimedTask>(deps, pulse, {
    title: "Scheduled tasks",
    queue: "scheduled_task",
    concurrentMax: settings.concurrentTasksMax,
    uuidOf: ({ execution_uuid }) => execution_uuid,
    claim: (serverIds, hold) => scheduledTasks.claim(serverIds, hold),
    renew: async (...args) =>
      (await scheduledTasks.renew(...args)).map((uuid) => ({ uuid, is_cancel_requested: false })),
    run: (task, signal) => runTask(deps, task, signal),
    endAbandoned: (at) => scheduledTasks.endAbandoned(at),
    tidy: pruning(() => scheduledTasks.prune(settings.taskExecutionsKept)),
  });
}
