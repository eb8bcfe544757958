import type { ClaimedTask } from "@berth/core/ports";
import { createLeaseRunner, type LeaseRunner, pruning } from "./lease-runner.ts";
import { runTask } from "./scheduled-task.ts";
import type { ValidationDeps } from "./server-validation.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Runs queued executions of scheduled tasks on the servers of this control plane. */
export function createTaskRunner(deps: ValidationDeps, wakeSignal: WakeSignal): LeaseRunner {
  const { settings } = deps;
  const { scheduledTasks } = deps.stores;
  return createLeaseRunner<ClaimedTask>(deps, wakeSignal, {
    title: "Scheduled tasks",
    queues: ["scheduled_task"],
    topic: "scheduled_task",
    concurrentMax: settings.concurrentTasksMax,
    uuidOf: ({ execution_uuid }) => execution_uuid,
    claim: (serverIds, request) => scheduledTasks.claim(serverIds, request),
    renew: (...asked) => scheduledTasks.renew(...asked),
    unrenewed: "gone",
    run: (task, keeper) => runTask(deps, task, keeper),
    endAbandoned: (at) => scheduledTasks.endAbandoned(at),
    tidy: pruning(() => scheduledTasks.prune(settings.taskExecutionsKept)),
  });
}
