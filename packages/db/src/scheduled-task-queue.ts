import type {
  ClaimedTask,
  ClaimRequest,
  ScheduledTaskExecutionRecord,
  SystemScheduledTaskStore,
} from "@berth/core/ports";
import { sql } from "kysely";
import { emit, idsOf, inTransaction, type StoreContext, wakeWorkers } from "./context.ts";
import {
  busyTeams,
  isHeldBy,
  isUnreached,
  isWithinShare,
  renewRuns,
  runsOfTeam,
  takenBy,
  UNREACHED,
} from "./leased-run.ts";
import { NEW_UUID } from "./new-uuid.ts";
import { storable } from "./storable.ts";

const OVERLAP = "Skipped: the run before it had not ended.";

export function systemScheduledTaskStore(context: StoreContext): SystemScheduledTaskStore {
  const { db } = context;
  return {
    begin: (taskId, at) => inTransaction(context, (tx) => begin(tx, taskId, at)),
    claim: (serverIds, hold) => inTransaction(context, (tx) => claim(tx, serverIds, hold)),
    renew: renewRuns(
      context,
      "scheduled_task_execution",
      sql`exists (select from scheduled_task task join resource on resource.id = task.resource_id
        where task.id = run.scheduled_task_id and resource.removing_at is null)`,
    ),
    async appendOutput(lease, text) {
      await sql`update scheduled_task_execution run
        set message = coalesce(message, '') || ${storable(text)}::text, updated_at = now()
        where ${isHeldBy(lease)} and status = 'running'`.execute(db);
    },
    finish: (lease, end) => inTransaction(context, async (tx) => (await endExecutions(tx, isHeldBy(lease), end)) > 0),
    endAbandoned: (at) =>
      inTransaction(context, async (tx) => {
        const isLost = sql`run.lease_expires_at < clock_timestamp()`;
        const lost = await endExecutions(tx, isLost, {
          ...FAILED,
          error_details: "The control plane stopped while it ran. Whether it took effect is not known.",
          finished_at: at,
        });
        const unreached = await endExecutions(tx, isUnreached("run"), {
          ...FAILED,
          error_details: UNREACHED,
          finished_at: at,
        });
        return lost + unreached;
      }),
    async prune(kept) {
      const { rows } = await sql`
        delete from scheduled_task_execution where id in (
          select old.id from (
            select scheduled_task_id from scheduled_task_execution_count where total > ${kept}::bigint limit ${TASKS_AT_ONCE}
          ) long, lateral (
            select id, status from scheduled_task_execution execution
            where execution.scheduled_task_id = long.scheduled_task_id
            order by execution.scheduled_task_id desc, execution.id desc offset ${kept}::bigint limit ${ROWS_AT_ONCE}
          ) old where old.status <> 'running')
        returning id`.execute(db);
      return rows.length;
    },
  };
}

const FAILED = { status: "failed", exit_code: null } as const;
const TASKS_AT_ONCE = 100;
const ROWS_AT_ONCE = 1000;

async function begin(context: StoreContext, taskId: number, at: Date): ReturnType<SystemScheduledTaskStore["begin"]> {
  const { rows } = await sql<NonNullable<Awaited<ReturnType<SystemScheduledTaskStore["begin"]>>>>`
    select task.uuid, task.name, resource.team_id, resource.uuid as resource_uuid
    from scheduled_task task join resource on resource.id = task.resource_id
    where task.id = ${taskId} and task.enabled and resource.removing_at is null
    for no key update of task`.execute(context.db);
  const [task] = rows;
  if (task === undefined) return undefined;
  const values = { scheduled_task_id: taskId, uuid: NEW_UUID, retry_count: 0, started_at: at, due_at: at };
  const insert = (fields: object) =>
    context.db
      .insertInto("scheduled_task_execution")
      .values({ ...values, ...fields })
      // An error would abort the transaction.
      .onConflict((conflict) => conflict.doNothing())
      .returning("uuid")
      .executeTakeFirst();
  if ((await insert({})) !== undefined) {
    wakeWorkers(context, "scheduled_task");
    return task;
  }
  const skipped = await insert({ status: "failed", error_details: OVERLAP, finished_at: at });
  if (skipped !== undefined)
    emitRunEvent(context, "skipped", { ...task, task_uuid: task.uuid, execution_uuid: skipped.uuid });
  return task;
}

async function claim(
  { db }: StoreContext,
  serverIds: readonly number[],
  request: ClaimRequest,
): Promise<ClaimedTask | undefined> {
  const { rows } = await sql<ClaimedTask>`
    with ${busyTeams(RUNNING_TEAMS)}
    select execution.uuid as execution_uuid, task.uuid as task_uuid, task.name as task_name,
      task.command, task.container, task.timeout, resource.id as resource_id, resource.uuid as resource_uuid,
      resource.kind as resource_kind, resource.team_id, resource.server_id
    from scheduled_task_execution execution
    join scheduled_task task on task.id = execution.scheduled_task_id
    join resource on resource.id = task.resource_id
    where execution.status = 'running' and execution.lease_owner is null and resource.removing_at is null
      and resource.server_id in ${idsOf(serverIds)} and ${isWithinShare(request, "resource.team_id")}
    order by ${runsOfTeam("resource.team_id")}, execution.id limit 1 for no key update of execution skip locked`.execute(
    db,
  );
  const [next] = rows;
  if (next === undefined) return undefined;
  await sql`update scheduled_task_execution set ${takenBy(request)} where uuid = ${next.execution_uuid}`.execute(db);
  return next;
}

// A subquery per row: few runs are active, but a join might make the planner read all tasks.
const RUNNING_TEAMS = sql`select (select resource.team_id from scheduled_task task
    join resource on resource.id = task.resource_id where task.id = run.scheduled_task_id) as team_id
  from scheduled_task_execution run where run.status = 'running' and run.lease_owner is not null`;

type End = Pick<ScheduledTaskExecutionRecord, "status" | "exit_code" | "error_details" | "finished_at">;

/** Changes only running executions: ended ones are final. */
async function endExecutions(context: StoreContext, isMeant: ReturnType<typeof sql>, end: End): Promise<number> {
  const { status, exit_code, error_details, finished_at } = end;
  const { rows } = await sql<TaskSubject>`
    update scheduled_task_execution run
    set status = ${status}, exit_code = ${exit_code}, error_details = ${error_details && storable(error_details)},
      finished_at = ${finished_at}, updated_at = now(), lease_owner = null, lease_expires_at = null
    from scheduled_task task join resource on resource.id = task.resource_id
    where run.status = 'running' and task.id = run.scheduled_task_id and ${isMeant}
    returning run.uuid as execution_uuid, task.uuid as task_uuid, task.name, resource.team_id,
      resource.uuid as resource_uuid`.execute(context.db);
  for (const ended of rows) emitRunEvent(context, status === "success" ? "finished" : "failed", ended);
  return rows.length;
}

interface TaskSubject {
  readonly execution_uuid: string;
  readonly task_uuid: string;
  readonly name: string;
  readonly team_id: number;
  readonly resource_uuid: string;
}

/** Without output and command: both may contain secrets. */
const emitRunEvent = (context: StoreContext, what: "finished" | "failed" | "skipped", subject: TaskSubject): void =>
  emit(context, {
    team_id: subject.team_id,
    type: `scheduled_task.${what}`,
    resource_uuid: subject.resource_uuid,
    payload: { task_uuid: subject.task_uuid, task_name: subject.name, execution_uuid: subject.execution_uuid },
  });
