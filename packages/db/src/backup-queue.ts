import {
  BACKUP_DEFAULTS,
  type BackupPlace,
  type BackupSettings,
  CANCELLED_BACKUP,
  dumpTargets,
} from "@berth/core/backup";
import type { DatabaseEngine } from "@berth/core/database";
import type { BackupEnd, BackupRemoval, ClaimedBackup, ClaimRequest, SystemBackupStore } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { emit, idsOf, inTransaction, notifyRun, type StoreContext, wakeWorkers } from "./context.ts";
import {
  ABANDONED,
  busyTeams,
  cancelRun,
  END_EVENTS,
  isHeldBy,
  isWithinShare,
  mayBecome,
  renewRuns,
  takenBy,
} from "./leased-run.ts";
import { NEW_UUID } from "./new-uuid.ts";
import { updateRuns } from "./run.ts";
import { storable } from "./storable.ts";

const OVERLAP = "Skipped: the run before it had not ended.";
const NO_TARGET = "No database to back up. Name one in databases_to_backup, or set dump_all.";

export function systemBackupStore(context: StoreContext): SystemBackupStore {
  const { db } = context;
  return {
    begin: (scheduleId, dueAt) => inTransaction(context, (tx) => begin(tx, scheduleId, dueAt)),
    beginRequested: (serverIds) => inTransaction(context, (tx) => beginRequested(tx, serverIds)),
    claim: (serverIds, hold) => inTransaction(context, (tx) => claim(tx, serverIds, hold)),
    renew: renewRuns(context, "backup_execution"),
    async place(hold, { folder, filename, s3_storage_id, s3_key }) {
      return await updateRuns(
        context,
        sql`update backup_execution run set folder = ${folder}, filename = ${filename},
            s3_storage_id = ${s3_storage_id}, s3_key = ${s3_key}, updated_at = now()
          where ${isHeldBy(hold)} and status = 'running' returning uuid`,
      );
    },
    async progress(hold, { step, written_bytes }) {
      await updateRuns(
        context,
        sql`update backup_execution run set step = ${step}, written_bytes = ${written_bytes}, updated_at = now()
          where ${isHeldBy(hold)} and status = 'running' returning uuid`,
      );
    },
    finish: (hold, end) => inTransaction(context, async (tx) => (await endExecutions(tx, isHeldBy(hold), end)) > 0),
    endAbandoned: (at) =>
      inTransaction(context, async (tx) => {
        let count = 0;
        for (const { isMeant, ...end } of ABANDONED) {
          count += await endExecutions(tx, isMeant, { ...NOTHING_SAVED, ...end, finished_at: at });
        }
        return count;
      }),
    async copies(scheduleId, place) {
      const { rows } = await sql<Copy>`
        select uuid, database_name as "databaseName", created_at as "createdAt",
          coalesce(size_bytes, 0) as "sizeBytes", status = 'success' as "isSuccess"
        from backup_execution where scheduled_backup_id = ${scheduleId} and status <> 'running'
          and ${isIn(place)}`.execute(db);
      return rows;
    },
    discard: (places) => remove(context, places, ON_ITS_WAY),
    giveUp: (uuids, place) => inTransaction(context, (tx) => giveUp(tx, uuids, place)),
    removals: (folder, take) => removals(context, folder, take),
    async removed(id) {
      await db.deleteFrom("backup_removal").where("id", "=", id).execute();
    },
    async prune(kept) {
      await sql`delete from backup_removal where attempts > ${REMOVAL_ATTEMPTS_MAX}`.execute(db);
      // The number is not a parameter: the planner would ignore the index of totals if it did not know how small its
      // part is.
      const { rows } = await sql`
        delete from backup_execution where id = any(array(
          select old.id from backup_execution_count long, lateral (
            select id from backup_execution execution
            where execution.scheduled_backup_id = long.scheduled_backup_id and status <> 'running'
              and not ${isIn("local")} and not ${isIn("s3")} and id <= (
                select id from backup_execution newer where newer.scheduled_backup_id = long.scheduled_backup_id
                order by newer.scheduled_backup_id desc, newer.id desc offset ${kept}::bigint limit 1)
            limit 1000
          ) old where long.total > ${sql.lit(kept)} limit 1000))
        returning id`.execute(db);
      return rows.length;
    },
  };
}

type Copy = Awaited<ReturnType<SystemBackupStore["copies"]>>[number];

const isIn = (place: BackupPlace): RawBuilder<unknown> =>
  place === "local"
    ? sql`(filename is not null and not local_storage_deleted)`
    : sql`(s3_uploaded is true and not s3_storage_deleted)`;

interface ScheduleRow {
  readonly id: number;
  readonly uuid: string;
  readonly engine: DatabaseEngine;
  readonly name: string;
  readonly settings: Partial<BackupSettings>;
  readonly team_id: number;
  readonly resource_uuid: string;
  readonly isRunning: boolean;
}

/** Locks the schedules until the transaction ends, so that nobody else starts a run of them. */
async function schedules(context: StoreContext, isMeant: RawBuilder<unknown>): Promise<readonly ScheduleRow[]> {
  const { rows } = await sql<ScheduleRow>`
    select schedule.id, schedule.uuid, resource.name,
      (select engine from database where database.resource_id = schedule.resource_id), schedule.settings, resource.team_id,
      resource.uuid as resource_uuid, exists (select from backup_execution running
        where running.scheduled_backup_id = schedule.id and running.status = 'running') as "isRunning"
    from scheduled_backup schedule join resource on resource.id = schedule.resource_id
    where resource.removing_at is null and ${isMeant} order by schedule.id
    for no key update of schedule`.execute(context.db);
  return rows;
}

async function begin(context: StoreContext, scheduleId: number, at: Date): ReturnType<SystemBackupStore["begin"]> {
  const [schedule] = await schedules(context, sql`schedule.id = ${scheduleId} and schedule.enabled`);
  if (schedule === undefined) return undefined;
  const { uuid, name, team_id, resource_uuid } = schedule;
  if (schedule.isRunning) {
    await insertEnded(context, schedule, { due_at: at, message: OVERLAP });
    emitRunEvent(context, "backup.skipped", { ...schedule, schedule_uuid: uuid, execution_uuid: null });
  } else await insertRun(context, schedule, at);
  return { uuid, name, team_id, resource_uuid };
}

async function beginRequested(context: StoreContext, serverIds: readonly number[]): Promise<number> {
  const asked = await schedules(
    context,
    sql`schedule.requested_at is not null and resource.server_id in ${idsOf(serverIds)}`,
  );
  const free = asked.filter(({ isRunning }) => !isRunning);
  for (const schedule of free) {
    await insertRun(context, schedule, null);
    await sql`update scheduled_backup set requested_at = null where id = ${schedule.id}`.execute(context.db);
  }
  return free.length;
}

async function insertRun(context: StoreContext, schedule: ScheduleRow, due_at: Date | null): Promise<void> {
  const settings = { ...BACKUP_DEFAULTS, ...schedule.settings };
  const targets = settings.dump_all ? [null] : dumpTargets(schedule.engine, settings.databases_to_backup ?? "");
  if (targets === undefined || targets.length === 0) {
    return await insertEnded(context, schedule, { due_at, message: NO_TARGET });
  }
  for (const target of targets) {
    await context.db
      .insertInto("backup_execution")
      .values({
        ...{ uuid: NEW_UUID, scheduled_backup_id: schedule.id, step: "waiting", due_at },
        database_name: target?.database ?? null,
        target: target === null ? null : JSON.stringify(target),
      })
      .execute();
  }
  wakeWorkers(context, "backup");
}

async function insertEnded(
  { db }: StoreContext,
  { id }: ScheduleRow,
  fields: { readonly due_at: Date | null; readonly message: string },
): Promise<void> {
  await db
    .insertInto("backup_execution")
    .values({ ...fields, uuid: NEW_UUID, scheduled_backup_id: id, status: "failed", finished_at: sql<Date>`now()` })
    .execute();
}

async function claim(
  context: StoreContext,
  serverIds: readonly number[],
  hold: ClaimRequest,
): Promise<ClaimedBackup | undefined> {
  const { db } = context;
  const { rows } = await sql<Omit<ClaimedBackup, "settings"> & { readonly settings: Partial<BackupSettings> }>`
    with ${busyTeams(RUNNING_TEAMS)}
    select execution.uuid as execution_uuid, execution.target, execution.created_at, schedule.id as schedule_id,
      schedule.uuid as schedule_uuid, schedule.frequency, schedule.settings, schedule.s3_storage_id,
      storage.uuid as s3_storage_uuid, resource.id as resource_id, resource.uuid as resource_uuid, resource.team_id,
      resource.server_id
    from backup_execution execution
    join scheduled_backup schedule on schedule.id = execution.scheduled_backup_id
    join resource on resource.id = schedule.resource_id
    left join s3_storage storage on storage.id = schedule.s3_storage_id
    where execution.status = 'running' and execution.lease_owner is null and resource.removing_at is null
      and resource.server_id in ${idsOf(serverIds)} and ${isWithinShare(hold, "resource.team_id")}
      and not exists (select from backup_execution other where other.scheduled_backup_id = schedule.id
        and other.status = 'running' and other.lease_owner is not null)
      and not exists (select from backup_restore restore where restore.target_resource_id = resource.id
        and restore.kind = 'restore' and restore.status = 'running')
    order by execution.id limit 1 for no key update of execution, schedule skip locked`.execute(db);
  const [next] = rows;
  if (next === undefined) return undefined;
  await sql`update backup_execution set ${takenBy(hold)}, step = 'dumping' where uuid = ${next.execution_uuid}`.execute(
    db,
  );
  notifyRun(context, next.execution_uuid);
  return { ...next, settings: { ...BACKUP_DEFAULTS, ...next.settings } };
}

// A subquery per row: few runs are active, but a join might make the planner read all schedules.
const RUNNING_TEAMS = sql`select (select resource.team_id from scheduled_backup schedule
    join resource on resource.id = schedule.resource_id where schedule.id = run.scheduled_backup_id) as team_id
  from backup_execution run where run.status = 'running' and run.lease_owner is not null`;

const NOTHING_SAVED: Omit<BackupEnd, "status" | "message" | "finished_at"> = {
  size_bytes: null,
  sha256: null,
  s3_uploaded: false,
  table_rows: null,
  keepsFile: false,
};

/** Must run in the request's transaction. @param uuid Of an execution of the team. */
export const cancelExecution = (context: StoreContext, uuid: string, at: Date): Promise<void> =>
  cancelRun(
    context,
    "backup_execution",
    { uuid, at },
    {
      end: () =>
        endExecutions(context, sql`run.uuid = ${uuid}`, {
          ...{ ...NOTHING_SAVED, status: "cancelled-by-user", message: CANCELLED_BACKUP, finished_at: at },
        }),
      async emitCancelRequest() {
        const { rows } = await sql<EventSubject>`
          select run.uuid as execution_uuid, schedule.uuid as schedule_uuid, resource.name, resource.team_id,
            resource.uuid as resource_uuid
          from backup_execution run join scheduled_backup schedule on schedule.id = run.scheduled_backup_id
            join resource on resource.id = schedule.resource_id
          where run.uuid = ${uuid}`.execute(context.db);
        for (const row of rows) emitRunEvent(context, "backup.cancel_requested", row);
        notifyRun(context, uuid);
      },
    },
  );

/** Changes running executions only: ended ones are final. Copies of a failed one are recorded for removal. */
async function endExecutions(context: StoreContext, isMeant: RawBuilder<unknown>, end: BackupEnd): Promise<number> {
  const { rows } = await sql<EndedRow>`
    update backup_execution run
    set status = ${end.status}, message = ${end.message && storable(end.message)}, size_bytes = ${end.size_bytes},
      sha256 = ${end.sha256}, table_rows = ${end.table_rows && JSON.stringify(end.table_rows)}::jsonb,
      s3_uploaded = case when run.s3_key is null then null else ${end.s3_uploaded}::boolean end,
      local_storage_deleted = not ${end.keepsFile}::boolean, finished_at = ${end.finished_at}, step = null,
      updated_at = now(), lease_owner = null, lease_expires_at = null
    from scheduled_backup schedule join resource on resource.id = schedule.resource_id
    where ${mayBecome(end.status)} and schedule.id = run.scheduled_backup_id and ${isMeant}
    returning run.uuid as execution_uuid, run.folder, run.filename, run.s3_storage_id, run.s3_key,
      schedule.uuid as schedule_uuid, resource.name, resource.team_id, resource.uuid as resource_uuid`.execute(
    context.db,
  );
  for (const row of rows) {
    if (!end.keepsFile) await remove(context, { folder: row.folder, filename: row.filename });
    const { s3_storage_id, s3_key } = row;
    if (!end.s3_uploaded) await remove(context, { s3_storage_id, s3_key }, ON_ITS_WAY);
    emitRunEvent(context, `backup.${END_EVENTS[end.status]}`, row);
    notifyRun(context, row.execution_uuid);
  }
  return rows.length;
}

interface Places {
  readonly folder?: string | null;
  readonly filename?: string | null;
  readonly s3_storage_id?: number | null;
  readonly s3_key?: string | null;
}

/** Delays in seconds. */
const AT_ONCE = [0];
/** Minutes until the object of an interrupted upload is deleted again, since the storage may accept the upload late. */
const ON_ITS_WAY = [0, 10, 120];

interface EndedRow extends Required<Places> {
  readonly execution_uuid: string;
  readonly schedule_uuid: string;
  readonly name: string;
  readonly team_id: number;
  readonly resource_uuid: string;
}

async function remove(
  { db }: StoreContext,
  { folder, filename, s3_storage_id, s3_key }: Places,
  objectAfterSeconds: readonly number[] = AT_ONCE,
): Promise<void> {
  if (folder && filename) await db.insertInto("backup_removal").values({ folder, filename }).execute();
  if (!s3_storage_id || !s3_key) return;
  // If the storage was deleted, its objects are no longer managed by Berth.
  await sql`insert into backup_removal (s3_storage_id, s3_key, not_before)
    select id, ${s3_key}, now() + seconds * interval '1 second'
    from s3_storage cross join unnest(${objectAfterSeconds}::float8[]) seconds where id = ${s3_storage_id}`.execute(db);
}

const GONE: Readonly<Record<BackupPlace, RawBuilder<unknown>>> = {
  local: sql`local_storage_deleted = true`,
  s3: sql`s3_storage_deleted = true`,
};

async function giveUp(context: StoreContext, uuids: readonly string[], place: BackupPlace): Promise<void> {
  const { rows } = await sql<Required<Places>>`
    update backup_execution set ${GONE[place]}, updated_at = now()
    where uuid = any(${uuids}::text[]) and status <> 'running' and ${isIn(place)}
      and not exists (select from backup_restore restore
        where restore.backup_execution_id = backup_execution.id and restore.status = 'running')
    returning folder, filename, s3_storage_id, s3_key`.execute(context.db);
  for (const { folder, filename, s3_storage_id, s3_key } of rows) {
    await remove(context, place === "local" ? { folder, filename } : { s3_storage_id, s3_key });
  }
}

/** Removals that fail are returned again, with growing delays. */
async function removals({ db }: StoreContext, folder: string, take: number): Promise<readonly BackupRemoval[]> {
  interface Row {
    readonly id: number;
    readonly filename: string | null;
    readonly s3_key: string | null;
    readonly s3_storage_uuid: string | null;
    readonly team_id: number | null;
  }
  const { rows } = await sql<Row>`
    update backup_removal removal set attempts = removal.attempts + 1,
      not_before = clock_timestamp() + least(removal.attempts + 1, 60) * interval '1 minute'
    from (select due.id, storage.uuid as s3_storage_uuid, storage.team_id from backup_removal due
      left join s3_storage storage on storage.id = due.s3_storage_id
      where due.not_before <= statement_timestamp() and (due.folder is null or due.folder = ${folder})
      order by due.not_before, due.id limit ${take} for update of due skip locked) taken
    where removal.id = taken.id
    returning removal.id, removal.filename, removal.s3_key, taken.s3_storage_uuid, taken.team_id`.execute(db);
  return rows.flatMap(({ id, filename, s3_key, s3_storage_uuid, team_id }): BackupRemoval[] => {
    if (filename !== null) return [{ id, place: "local", filename }];
    if (s3_key === null || s3_storage_uuid === null || team_id === null) return [];
    return [{ id, place: "s3", team_id, s3_storage_uuid, s3_key }];
  });
}

/** About two days. */
const REMOVAL_ATTEMPTS_MAX = 75;

interface EventSubject {
  readonly schedule_uuid: string;
  readonly execution_uuid: string | null;
  readonly name: string;
  readonly team_id: number;
  readonly resource_uuid: string;
}

const emitRunEvent = (context: StoreContext, type: string, told: EventSubject): void =>
  emit(context, {
    team_id: told.team_id,
    type,
    resource_uuid: told.resource_uuid,
    payload: {
      database_name: told.name,
      scheduled_backup_uuid: told.schedule_uuid,
      ...(told.execution_uuid === null ? {} : { execution_uuid: told.execution_uuid }),
    },
  });
