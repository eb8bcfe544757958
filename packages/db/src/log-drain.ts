import type { DrainedRelease, LogDrainStore, SystemLogDrainStore } from "@berth/core/ports";
import { type LogDrainSecrets, NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import { sql } from "kysely";
import { inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { storable } from "./storable.ts";

const place = (uuid: string) => `server ${uuid} log_drain_secrets`;

interface SealedRow {
  readonly uuid: string;
  readonly log_drain_secrets: Uint8Array | null;
}

function opened({ cipher }: StoreContext, row: SealedRow | undefined): LogDrainSecrets | undefined {
  if (row === undefined || row.log_drain_secrets === null) return undefined;
  // Fields added after it was written read as missing.
  return { ...NO_LOG_DRAIN_SECRETS, ...JSON.parse(cipher.open(row.log_drain_secrets, place(row.uuid))) };
}

export function logDrainStore(context: TeamContext): LogDrainStore {
  const { db, teamId, cipher } = context;
  const own = (serverId: number) =>
    db
      .selectFrom("server")
      .select(["id", "uuid", "log_drain_secrets"])
      .where("id", "=", serverId)
      .where("team_id", "=", teamId);
  return {
    secrets: async (serverId) => opened(context, await own(serverId).executeTakeFirst()),
    async save(serverId, secrets) {
      const server = await own(serverId).executeTakeFirst();
      if (server === undefined) return;
      await db
        .updateTable("server")
        .set({
          log_drain_secrets: cipher.seal(JSON.stringify(secrets), place(server.uuid)),
          updated_at: sql<Date>`now()`,
        })
        .where("id", "=", server.id)
        .execute();
    },
    restart: (serverId) =>
      inTransaction(context, async (tx) => {
        const { numUpdatedRows } = await tx.db
          .updateTable("server")
          .set({ log_drain_problem: null })
          .where("id", "=", serverId)
          .where("team_id", "=", teamId)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return;
        await tx.db.deleteFrom("log_drain_resource").where("server_id", "=", serverId).execute();
        await tx.db
          .deleteFrom("log_drain_position")
          .where("deployment_id", "in", (query) =>
            query.selectFrom("release").select("deployment_id").where("server_id", "=", serverId),
          )
          .execute();
        await rememberNew(tx, serverId);
      }),
  };
}

export function systemLogDrainStore(context: StoreContext): SystemLogDrainStore {
  const { db } = context;
  return {
    secrets: async (serverId) =>
      opened(
        context,
        await db
          .selectFrom("server")
          .select(["uuid", "log_drain_secrets"])
          .where("id", "=", serverId)
          .executeTakeFirst(),
      ),
    drained: (serverId) =>
      inTransaction(context, async (tx) => {
        await forgetOthers(tx, serverId);
        await rememberNew(tx, serverId);
        const resources = tx.db
          .selectFrom("log_drain_resource")
          .select("resource_id")
          .where("server_id", "=", serverId);
        const ids = (await resources.execute()).map(({ resource_id }) => resource_id);
        return { resourceIds: new Set(ids), releases: ids.length === 0 ? [] : await listReleases(tx, serverId) };
      }),
    async savePositions({ name, owner }, positions) {
      if (positions.length === 0) return;
      await sql`insert into log_drain_position (deployment_id, cursor)
        select release.deployment_id, position.cursor
        from jsonb_to_recordset(${JSON.stringify(positions)}::jsonb)
          position (deployment_id bigint, since timestamptz, cursor text)
        join release on release.deployment_id = position.deployment_id
        join log_drain_resource drained on drained.server_id = release.server_id
          and drained.resource_id = release.resource_id and drained.since = position.since
        where exists (select from lease where lease.name = ${name} and lease.owner = ${owner} and lease.expires_at > now())
        on conflict (deployment_id) do update set cursor = excluded.cursor`.execute(db);
    },
    async recordProblem(serverId, problem) {
      await db
        .updateTable("server")
        .set({ log_drain_problem: problem && storable(problem) })
        .where("id", "=", serverId)
        .where("log_drain_problem", "is distinct from", problem)
        .execute();
    },
  };
}

/** Ids of resources with lines to deliver that are recorded on a server, or have a release there. */
const drainedOn = (serverId: number) => sql`
  select resource.id from resource where resource.server_id = ${serverId} and ${IS_DRAINED}
  union select resource.id from release join resource on resource.id = release.resource_id
    where release.server_id = ${serverId} and ${IS_DRAINED}`;

const IS_DRAINED = sql`exists (select from application where application.resource_id = resource.id
  and application.settings @> '{"is_log_drain_enabled": true}')`;

async function forgetOthers({ db }: StoreContext, serverId: number): Promise<void> {
  await sql`with forgotten as (
      delete from log_drain_resource where server_id = ${serverId}
        and resource_id not in (${drainedOn(serverId)}) returning resource_id
    )
    delete from log_drain_position where deployment_id in (
      select deployment_id from release join forgotten on forgotten.resource_id = release.resource_id
      where release.server_id = ${serverId})`.execute(db);
}

async function rememberNew({ db }: StoreContext, serverId: number): Promise<void> {
  await sql`insert into log_drain_resource (server_id, resource_id)
    select ${serverId}::bigint, asked.id from (${drainedOn(serverId)}) asked on conflict do nothing`.execute(db);
}

/** Kept releases are stopped, and what they printed was followed before. */
const listReleases = async ({ db }: StoreContext, serverId: number): Promise<readonly DrainedRelease[]> =>
  await db
    .selectFrom("log_drain_resource as drained")
    .innerJoin("release", (join) =>
      join
        .onRef("release.resource_id", "=", "drained.resource_id")
        .onRef("release.server_id", "=", "drained.server_id"),
    )
    .innerJoin("resource", "resource.id", "release.resource_id")
    .innerJoin("environment", "environment.id", "resource.environment_id")
    .innerJoin("project", "project.id", "environment.project_id")
    .leftJoin("log_drain_position as position", "position.deployment_id", "release.deployment_id")
    .select([
      "release.deployment_id",
      "release.deployment_uuid",
      "release.resource_id",
      "release.pull_request_id",
      "release.created_at",
      "release.resource_uuid",
      "resource.name as resource_name",
      "resource.kind as resource_kind",
      "environment.name as environment_name",
      "project.name as project_name",
      "drained.since",
      "position.cursor",
    ])
    .where("drained.server_id", "=", serverId)
    .where("release.role", "!=", "kept")
    .orderBy("release.deployment_id")
    .execute();
