import { notFound } from "@berth/core";
import type { ScheduledTaskExecutionRecord, ScheduledTaskStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type TeamContext, wakeWorkers } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";

const COLUMNS = [
  "scheduled_task.id",
  "scheduled_task.uuid",
  "scheduled_task.name",
  "scheduled_task.command",
  "scheduled_task.frequency",
  "scheduled_task.container",
  "scheduled_task.timeout",
  "scheduled_task.enabled",
  "scheduled_task.created_at",
  "scheduled_task.updated_at",
] as const;

const FIELDS = ["name", "command", "frequency", "container", "timeout", "enabled"] as const;

const EXECUTION_COLUMNS = [
  "scheduled_task_execution.id",
  "scheduled_task_execution.uuid",
  "scheduled_task_execution.status",
  "scheduled_task_execution.message",
  "scheduled_task_execution.error_details",
  "scheduled_task_execution.exit_code",
  "scheduled_task_execution.retry_count",
  "scheduled_task_execution.due_at",
  "scheduled_task_execution.started_at",
  "scheduled_task_execution.finished_at",
  "scheduled_task_execution.created_at",
  "scheduled_task_execution.updated_at",
] as const;

export function scheduledTaskStore(context: TeamContext): ScheduledTaskStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const ofResource = (resourceId: number) =>
    db.selectFrom("scheduled_task").where("scheduled_task.resource_id", "in", ownResource(resourceId));
  return {
    list: (resourceId, paging = {}) =>
      page(
        paging,
        (window) => within(ofResource(resourceId).select(COLUMNS).orderBy("scheduled_task.id"), window).execute(),
        () => countRows(ofResource(resourceId)),
      ),
    find: (resourceId, uuid) =>
      ofResource(resourceId).select(COLUMNS).where("scheduled_task.uuid", "=", uuid).executeTakeFirst(),
    async insert(resourceId, uuid, task) {
      const owner = await ownResource(resourceId).executeTakeFirst();
      if (owner === undefined) throw notFound("Resource");
      return await db
        .insertInto("scheduled_task")
        .values({ ...pick(task, FIELDS), uuid, resource_id: owner.id })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow();
    },
    update: (resourceId, uuid, change) =>
      db
        .updateTable("scheduled_task")
        .set({ ...pick(change, FIELDS), updated_at: sql<Date>`now()` })
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .returning(COLUMNS)
        .executeTakeFirst(),
    async delete(resourceId, uuid) {
      const deleted = await db
        .deleteFrom("scheduled_task")
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
    executions: (taskId, paging = {}) => executions(context, taskId, paging),
    findExecution: (taskId, uuid) =>
      db
        .selectFrom("scheduled_task_execution")
        .innerJoin("scheduled_task", "scheduled_task.id", "scheduled_task_execution.scheduled_task_id")
        .innerJoin("resource", "resource.id", "scheduled_task.resource_id")
        .select(EXECUTION_COLUMNS)
        .where("scheduled_task_execution.uuid", "=", uuid)
        .where("scheduled_task.id", "=", taskId)
        .where("resource.team_id", "=", teamId)
        .executeTakeFirst(),
    request: (resourceId, taskUuid, execution) =>
      inTransaction(context, (tx) => request(tx, resourceId, taskUuid, execution)),
  };
}

async function request(
  context: TeamContext,
  resourceId: number,
  taskUuid: string,
  { uuid, at }: Parameters<ScheduledTaskStore["request"]>[2],
): Promise<ScheduledTaskExecutionRecord | undefined> {
  const task = await scheduledTaskStore(context).find(resourceId, taskUuid);
  if (task === undefined) throw notFound("Scheduled task");
  const asked = await context.db
    .insertInto("scheduled_task_execution")
    .values({ scheduled_task_id: task.id, uuid, retry_count: 0, started_at: at })
    // A unique index allows only one running execution. An error would abort the transaction.
    .onConflict((conflict) => conflict.doNothing())
    .returning(EXECUTION_COLUMNS)
    .executeTakeFirst();
  if (asked !== undefined) wakeWorkers(context, "scheduled_task");
  return asked;
}

async function executions({ db, teamId }: TeamContext, taskId: number, paging: Parameters<typeof page>[0]) {
  const own = await db
    .selectFrom("scheduled_task")
    .innerJoin("resource", "resource.id", "scheduled_task.resource_id")
    .select("scheduled_task.id")
    .where("scheduled_task.id", "=", taskId)
    .where("resource.team_id", "=", teamId)
    .executeTakeFirst();
  if (own === undefined) return { items: [], total: 0 };
  const order = {
    owner: "scheduled_task_execution.scheduled_task_id",
    is: own.id,
    id: "scheduled_task_execution.id",
    direction: "desc",
  } as const;
  return page(
    paging,
    (window) =>
      within(ofOwner(db.selectFrom("scheduled_task_execution").select(EXECUTION_COLUMNS), order), window).execute(),
    async () => {
      const kept = await db
        .selectFrom("scheduled_task_execution_count")
        .select("total")
        .where("scheduled_task_id", "=", own.id)
        .executeTakeFirst();
      return kept?.total ?? 0;
    },
  );
}
