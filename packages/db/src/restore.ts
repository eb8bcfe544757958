import { cancelledRestore } from "@berth/core/backup";
import type {
  ClaimedRestore,
  ClaimRequest,
  LastDrill,
  RestoreEnd,
  RestoreStore,
  SystemRestoreStore,
} from "@berth/core/ports";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { emit, idsOf, inTransaction, notifyRun, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
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
import { countRows, ofOwner, page, within } from "./page.ts";
import { runEnd, updateRuns } from "./run.ts";
import type { DB } from "./schema.ts";
import { storable } from "./storable.ts";

const COLUMNS = [
  "backup_restore.id",
  "backup_restore.uuid",
  "backup_restore.kind",
  "backup_execution.uuid as execution_uuid",
  "scheduled_backup.uuid as scheduled_backup_uuid",
  "target.uuid as target_database_uuid",
  "backup_restore.database_name",
  "backup_restore.status",
  "backup_restore.step",
  "backup_restore.message",
  "backup_restore.tables",
  "backup_restore.started_at",
  "backup_restore.finished_at",
  "backup_restore.cancel_requested_at",
  "backup_restore.created_at",
  "backup_restore.updated_at",
] as const;

const selectRestores = (db: Kysely<DB>) =>
  db
    .selectFrom("backup_restore")
    .innerJoin("backup_execution", "backup_execution.id", "backup_restore.backup_execution_id")
    .innerJoin("scheduled_backup", "scheduled_backup.id", "backup_execution.scheduled_backup_id")
    .innerJoin("resource as target", "target.id", "backup_restore.target_resource_id")
    .select(COLUMNS);

export function restoreStore(context: TeamContext): RestoreStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const find: RestoreStore["find"] = (resourceId, uuid) =>
    selectRestores(context.db)
      .where("backup_restore.uuid", "=", uuid)
      .where("backup_restore.resource_id", "in", ownResource(resourceId))
      .executeTakeFirst();
  return {
    async lastDrills(resourceIds) {
      // Backwards in the index of each database, so that its older restores are not read.
      const { rows } = await sql<LastDrill>`
        select newest.* from resource cross join lateral (
          select resource_id, status, message, finished_at from backup_restore
          where resource_id = resource.id and kind = 'drill' and status in ('success', 'failed')
          order by resource_id desc, id desc limit 1
        ) newest where resource.team_id = ${teamId} and resource.id in ${idsOf(resourceIds)}`.execute(db);
      return rows;
    },
    async oldestBackups(resourceIds) {
      // Forwards in the index of each schedule, so that its later backups are not read.
      const { rows } = await sql<{ readonly resource_id: number; readonly created_at: Date }>`
        select schedule.resource_id, min(oldest.created_at) as created_at
        from scheduled_backup schedule join resource on resource.id = schedule.resource_id
        cross join lateral (
          select created_at from backup_execution
          where scheduled_backup_id = schedule.id and status = 'success' order by scheduled_backup_id, id limit 1
        ) oldest
        where resource.team_id = ${teamId} and schedule.resource_id in ${idsOf(resourceIds)}
        group by schedule.resource_id`.execute(db);
      return new Map(rows.map(({ resource_id, created_at }) => [resource_id, created_at]));
    },
    list: (resourceId, paging = {}) =>
      page(
        paging,
        (window) => {
          const order = { owner: "backup_restore.resource_id", is: resourceId, id: "backup_restore.id" } as const;
          const own = selectRestores(db).where("target.team_id", "=", teamId);
          return within(ofOwner(own, { ...order, direction: "desc" }), window).execute();
        },
        () => countRows(db.selectFrom("backup_restore").where("resource_id", "in", ownResource(resourceId))),
      ),
    find,
    async isRunning(scheduleId, executionUuid) {
      const running = db
        .selectFrom("backup_restore")
        .innerJoin("backup_execution", "backup_execution.id", "backup_restore.backup_execution_id")
        .innerJoin("resource", "resource.id", "backup_restore.resource_id")
        .select("backup_restore.id")
        .where("backup_restore.status", "=", "running")
        .where("backup_execution.scheduled_backup_id", "=", scheduleId)
        .where("resource.team_id", "=", teamId);
      const meant = executionUuid === undefined ? running : running.where("backup_execution.uuid", "=", executionUuid);
      return (await meant.limit(1).executeTakeFirst()) !== undefined;
    },
    insert: ({ resource_id, target_resource_id, backup_execution_id, ...restore }) =>
      inTransaction(context, async (tx) => {
        const { rows } = await sql`
          insert into backup_restore (uuid, kind, database_name, backup_execution_id, resource_id, target_resource_id, step)
          select ${restore.uuid}, ${restore.kind}, ${restore.database_name}, execution.id, source.id, target.id, 'waiting'
          from backup_execution execution join scheduled_backup on scheduled_backup.id = execution.scheduled_backup_id
            join resource source on source.id = scheduled_backup.resource_id, resource target
          where execution.id = ${backup_execution_id} and source.id = ${resource_id} and target.id = ${target_resource_id}
            and source.team_id = ${teamId} and target.team_id = ${teamId}
          on conflict (target_resource_id, kind) where status = 'running' do nothing returning id`.execute(tx.db);
        if (rows.length === 0) return undefined;
        wakeWorkers(tx, "backup");
        return await restoreStore(tx).find(resource_id, restore.uuid);
      }),
    requestCancel: (resourceId, uuid, at) =>
      inTransaction(context, async (tx) => {
        const own = restoreStore(tx);
        const found = await own.find(resourceId, uuid);
        if (found === undefined) return undefined;
        const message = cancelledRestore(found.kind, "untouched");
        const end: RestoreEnd = { status: "cancelled-by-user", message, tables: null, finished_at: at };
        const isMeant = sql`run.uuid = ${uuid}`;
        await cancelRun(
          tx,
          "backup_restore",
          { uuid, at },
          { end: () => endAll(tx, isMeant, end), emitCancelRequest: () => emitCancelRequest(tx, isMeant) },
        );
        wakeWorkers(tx, "backup");
        return await own.find(resourceId, uuid);
      }),
    untilEnded: (resourceId, uuid, secondsMax) => runEnd(context, { uuid, secondsMax }, () => find(resourceId, uuid)),
  };
}

export function systemRestoreStore(context: StoreContext): SystemRestoreStore {
  const { db } = context;
  return {
    claim: (serverIds, hold) => inTransaction(context, (tx) => claim(tx, serverIds, hold)),
    renew: renewRuns(context, "backup_restore"),
    async progress(hold, step) {
      await updateRuns(
        context,
        sql`update backup_restore run set step = ${step}, updated_at = now()
          where ${isHeldBy(hold)} and status = 'running' returning uuid`,
      );
    },
    finish: (hold, end) => inTransaction(context, async (tx) => (await endAll(tx, isHeldBy(hold), end)) > 0),
    endAbandoned: (at) =>
      inTransaction(context, async (tx) => {
        let count = 0;
        for (const { isMeant, status, message } of ABANDONED) {
          const told = `${message} What was restored until then may be incomplete.`;
          count += await endAll(tx, isMeant, { status, message: told, tables: null, finished_at: at });
        }
        return count;
      }),
    async prune(kept) {
      // Jumps from one database to the next in the index, without reading the restores in between.
      const { rows } = await sql`
        with recursive owner (id) as (
          select min(resource_id) from backup_restore
          union all
          select (select min(resource_id) from backup_restore where resource_id > owner.id)
          from owner where owner.id is not null)
        delete from backup_restore where id = any(array(
          select old.id from owner cross join lateral (
            select id from backup_restore where resource_id = owner.id and status <> 'running' and id <= (
              select id from backup_restore newer where newer.resource_id = owner.id
              order by newer.resource_id desc, newer.id desc offset ${kept}::bigint limit 1)
            limit 1000
          ) old where owner.id is not null limit 1000))
        returning id`.execute(db);
      return rows.length;
    },
  };
}

async function claim(
  context: StoreContext,
  serverIds: readonly number[],
  hold: ClaimRequest,
): Promise<ClaimedRestore | undefined> {
  const { db } = context;
  const { rows } = await sql<ClaimedRestore>`
    with ${busyTeams(RUNNING_TEAMS)}
    select run.uuid, run.kind, run.database_name, source.uuid as resource_uuid, run.target_resource_id,
      target.uuid as target_database_uuid, target.team_id, target.server_id, execution.target as saved,
      coalesce((schedule.settings ->> 'timeout')::float8, 3600) as timeout, execution.sha256, execution.size_bytes::float8 as size_bytes, execution.table_rows,
      case when execution.filename is not null and not execution.local_storage_deleted
        then jsonb_build_object('folder', execution.folder, 'filename', execution.filename) end as file,
      case when execution.s3_uploaded and not execution.s3_storage_deleted and storage.id is not null
        then jsonb_build_object('s3_storage_uuid', storage.uuid, 's3_key', execution.s3_key) end as object
    from backup_restore run
    join backup_execution execution on execution.id = run.backup_execution_id
    join scheduled_backup schedule on schedule.id = execution.scheduled_backup_id
    join resource source on source.id = run.resource_id
    join resource target on target.id = run.target_resource_id
    left join s3_storage storage on storage.id = execution.s3_storage_id
    where run.status = 'running' and run.lease_owner is null and target.removing_at is null
      and target.server_id in ${idsOf(serverIds)} and ${isWithinShare(hold, "target.team_id")}
    order by run.id limit 1 for no key update of run skip locked`.execute(db);
  const [next] = rows;
  if (next === undefined) return undefined;
  await sql`update backup_restore set ${takenBy(hold)}, step = 'checking' where uuid = ${next.uuid}`.execute(db);
  notifyRun(context, next.uuid);
  return next;
}

// A subquery per row: few runs are active, but a join might make the planner read all resources.
const RUNNING_TEAMS = sql`select (select team_id from resource where resource.id = run.target_resource_id) as team_id
  from backup_restore run where run.status = 'running' and run.lease_owner is not null`;

/** Changes only running restores: ended ones are final. */
async function endAll(context: StoreContext, isMeant: RawBuilder<unknown>, end: RestoreEnd): Promise<number> {
  const { rows } = await sql<EventSubject>`
    update backup_restore run
    set status = ${end.status}, message = ${end.message && storable(end.message)},
      tables = ${end.tables && JSON.stringify(end.tables)}::jsonb, finished_at = ${end.finished_at}, step = null,
      updated_at = now(), lease_owner = null, lease_expires_at = null
    from resource where ${mayBecome(end.status)} and resource.id = run.target_resource_id and ${isMeant}
    returning run.uuid, run.kind, resource.name, resource.team_id, resource.uuid as resource_uuid`.execute(context.db);
  for (const row of rows) {
    emitRunEvent(context, END_EVENTS[end.status], row);
    notifyRun(context, row.uuid);
  }
  return rows.length;
}

interface EventSubject {
  readonly uuid: string;
  readonly kind: string;
  readonly name: string;
  readonly team_id: number;
  readonly resource_uuid: string;
}

const emitRunEvent = (
  context: StoreContext,
  what: string,
  { uuid, kind, name, team_id, resource_uuid }: EventSubject,
): void =>
  emit(context, {
    ...{ team_id, type: `${kind}.${what}`, resource_uuid },
    payload: { database_name: name, restore_uuid: uuid },
  });

async function emitCancelRequest(context: StoreContext, isMeant: RawBuilder<unknown>): Promise<void> {
  const { rows } = await sql<EventSubject>`
    select run.uuid, run.kind, resource.name, resource.team_id, resource.uuid as resource_uuid
    from backup_restore run join resource on resource.id = run.target_resource_id where ${isMeant}`.execute(context.db);
  for (const row of rows) {
    emitRunEvent(context, "cancel_requested", row);
    notifyRun(context, row.uuid);
  }
}
