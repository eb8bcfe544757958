import { DomainError, invalid, notFound } from "@berth/core";
import type { Page, Paging } from "@berth/core/ports";
import {
  newScheduledTask,
  SCHEDULED_TASKS_MAX,
  type ScheduledTask,
  type ScheduledTaskCreate,
  type ScheduledTaskExecution,
  type ScheduledTaskRun,
  type ScheduledTaskUpdate,
  scheduledTaskExecutionView,
  scheduledTaskView,
  type TaskOwnerRef,
} from "@berth/core/schedule";
import { requireAbility } from "@berth/core/team";
import { findResource, findResourceForUpdate, requireRoom, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { mapPage } from "./page.ts";
import { requireTaskContainer } from "./task-container.ts";

/**
 * Commands that an application or a service runs on a schedule. Commands may contain secrets, so events only have
 * uuids.
 */
export function scheduledTasks({ scope, stores, ids, clock }: UseCaseContext) {
  return {
    async list(ref: TaskOwnerRef, paging: Paging): Promise<Page<ScheduledTask>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      return mapPage(await stores.scheduledTasks.list(owner.id, paging), scheduledTaskView);
    },

    /** @throws DomainError `request.invalid`, also for a container that its owner lacks */
    async create(ref: TaskOwnerRef, sent: ScheduledTaskCreate): Promise<ScheduledTask> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owner = await findResourceForUpdate(tx, ref);
        requireRoom(await tx.scheduledTasks.list(owner.id, { take: 0 }), SCHEDULED_TASKS_MAX, "scheduled tasks");
        await requireTaskContainer(tx, owner, sent.container);
        const made = await tx.scheduledTasks.insert(owner.id, ids.uuid(), newScheduledTask(sent));
        await emitResourceEvent(tx, owner, "resource.scheduled_tasks_changed", { created: made.uuid });
        return scheduledTaskView(made);
      });
    },

    async update(ref: TaskOwnerRef, taskUuid: string, sent: ScheduledTaskUpdate): Promise<ScheduledTask> {
      requireAbility(scope, "write");
      if (Object.values(sent).every((value) => value === undefined)) {
        throw invalid({ _: ["At least one field must be provided."] });
      }
      return stores.transaction(async (tx) => {
        const owner = await findResource(tx, ref);
        const changed = await tx.scheduledTasks.update(owner.id, taskUuid, sent);
        if (changed === undefined) throw notFound(THING);
        await requireTaskContainer(tx, owner, sent.container);
        await emitResourceEvent(tx, owner, "resource.scheduled_tasks_changed", { updated: taskUuid });
        return scheduledTaskView(changed);
      });
    },

    /** Also deletes its executions. */
    async delete(ref: TaskOwnerRef, taskUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const owner = await findResource(tx, ref);
        if (!(await tx.scheduledTasks.delete(owner.id, taskUuid))) throw notFound(THING);
        await emitResourceEvent(tx, owner, "resource.scheduled_tasks_changed", { deleted: taskUuid });
      });
      return { message: "Scheduled task deleted." };
    },

    /**
     * Requests a run now, even of a disabled task.
     * @throws DomainError `resource.already_running`
     */
    async run(ref: TaskOwnerRef, taskUuid: string): Promise<ScheduledTaskRun> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owner = await findResource(tx, ref);
        const asked = { uuid: ids.uuid(), at: clock.now() };
        const execution = await tx.scheduledTasks.request(owner.id, taskUuid, asked);
        if (execution === undefined) throw new DomainError("resource.already_running", RUNNING);
        return { message: "Scheduled task execution queued.", execution_uuid: execution.uuid };
      });
    },

    async execution(ref: TaskOwnerRef, taskUuid: string, uuid: string): Promise<ScheduledTaskExecution> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      const task = await stores.scheduledTasks.find(owner.id, taskUuid);
      if (task === undefined) throw notFound(THING);
      const found = await stores.scheduledTasks.findExecution(task.id, uuid);
      if (found === undefined) throw notFound("Scheduled task execution");
      return scheduledTaskExecutionView(found);
    },

    /** Newest first. */
    async executions(ref: TaskOwnerRef, taskUuid: string, paging: Paging): Promise<Page<ScheduledTaskExecution>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      const task = await stores.scheduledTasks.find(owner.id, taskUuid);
      if (task === undefined) throw notFound(THING);
      return mapPage(await stores.scheduledTasks.executions(task.id, paging), scheduledTaskExecutionView);
    },
  };
}

const THING = "Scheduled task";
const RUNNING = "The scheduled task is running already. Wait until it has ended.";
