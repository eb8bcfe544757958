import { notFound } from "@berth/core";
import { combinedStatus } from "@berth/core/application";
import type { ApplicationDestinationRecord, ApplicationDestinationStore, SystemResourceStore } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { stayingServerOf } from "./destination.ts";
import { setResourceStatus } from "./resource-row.ts";
import { storable } from "./storable.ts";

const RECORD = sql<ApplicationDestinationRecord>`jsonb_build_object(
  'server_id', attached.server_id, 'destination_id', attached.destination_id, 'status', attached.status,
  'status_problem', attached.status_problem, 'restart_count', attached.restart_count, 'is_given_up', attached.is_given_up,
  'scale_problem', attached.scale_problem,
  'server_uuid', server.uuid, 'server_name', server.name, 'server_ip', server.ip, 'server_engine', server.engine,
  'is_server_functional', (coalesce((server.settings ->> 'is_reachable')::boolean, false)
      or coalesce((server.settings ->> 'is_substituted')::boolean, false))
    and coalesce((server.settings ->> 'is_usable')::boolean, false)
    and not coalesce((server.settings ->> 'force_disabled')::boolean, false),
  'destination_uuid', destination.uuid, 'destination_name', destination.name,
  'destination_network', destination.network)`;

const FROM = sql`application_destination attached
  join server on server.id = attached.server_id join destination on destination.id = attached.destination_id
  where attached.resource_id = resource.id`;

const ORDER = sql`attached.server_id <> resource.server_id, attached.created_at, attached.server_id`;

/** All destinations of a row of `resource` that is on several servers. */
export const destinationsOf = sql<readonly ApplicationDestinationRecord[]>`coalesce((
  select jsonb_agg(${RECORD} order by ${ORDER}) from ${FROM}), '[]')`;

/** The one on this server. */
export const destinationOn = (serverId: number | null): RawBuilder<ApplicationDestinationRecord | null> =>
  sql`(select ${RECORD} from ${FROM} and attached.server_id = ${serverId}::bigint)`;

export function applicationDestinationStore(context: TeamContext): ApplicationDestinationStore {
  const { teamId } = context;
  /** Locks the application, so that its destinations are changed one after the other. */
  const lockOwn = async ({ db }: StoreContext, id: number) =>
    await db
      .selectFrom("resource")
      .select(["server_id", "destination_id", "status"])
      .where("id", "=", id)
      .where("kind", "=", "application")
      .where("team_id", "=", teamId)
      .forNoKeyUpdate()
      .executeTakeFirst();
  return {
    async list(resourceId) {
      const found = await context.db
        .selectFrom("resource")
        .select(destinationsOf.as("destinations"))
        .where("id", "=", resourceId)
        .where("team_id", "=", teamId)
        .executeTakeFirst();
      return found?.destinations ?? [];
    },
    attach: (resourceId, destinationId) =>
      inTransaction(context, async (tx) => {
        const application = await lockOwn(tx, resourceId);
        if (application === undefined) throw notFound("Application");
        const server_id = await stayingServerOf(tx, destinationId);
        if (server_id === undefined) throw notFound("Destination");
        if (server_id === application.server_id) return false;
        await sql`insert into application_destination
            (resource_id, server_id, destination_id, status, status_problem, restart_count, scale_problem)
          select resource.id, resource.server_id, resource.destination_id, resource.status, resource.status_problem,
            restart_count, scale_problem
          from resource join application on application.resource_id = resource.id where resource.id = ${resourceId}
          on conflict do nothing`.execute(tx.db);
        const { numInsertedOrUpdatedRows } = await tx.db
          .insertInto("application_destination")
          .values({ resource_id: resourceId, server_id, destination_id: destinationId })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        await combine(tx, resourceId);
        return numInsertedOrUpdatedRows === 1n;
      }),
    detach: (resourceId, destinationId) =>
      inTransaction(context, async (tx) => {
        const application = await lockOwn(tx, resourceId);
        if (application === undefined || application.destination_id === destinationId) return false;
        const { numDeletedRows } = await tx.db
          .deleteFrom("application_destination")
          .where("resource_id", "=", resourceId)
          .where("destination_id", "=", destinationId)
          .executeTakeFirst();
        await combine(tx, resourceId);
        return numDeletedRows > 0n;
      }),
    detachServer: (serverId) =>
      inTransaction(context, async (tx) => {
        const detached = await tx.db
          .deleteFrom("application_destination")
          .using("resource")
          .whereRef("resource.id", "=", "application_destination.resource_id")
          .where("application_destination.server_id", "=", serverId)
          .where("resource.server_id", "!=", serverId)
          .where("resource.team_id", "=", teamId)
          .returning("application_destination.resource_id")
          .execute();
        for (const { resource_id } of detached) await combine(tx, resource_id);
      }),
  };
}

/** What is observed of a resource on one of its servers. For a resource on one server, it is the resource's own. */
export function observedOnServer(
  context: StoreContext,
): Pick<SystemResourceStore, "setStatus" | "setRestarts" | "setScaleProblem" | "giveUp"> {
  return {
    setStatus: (part, status, { problem = null, replaces } = {}) =>
      inTransaction(context, async (tx) => {
        const seen = { status, status_problem: problem && storable(problem) };
        if (await change(tx, part, replaces === undefined ? seen : seenInPlaceOf(replaces, seen))) {
          await combine(tx, part.resource_id);
        } else await setResourceStatus(tx, part.resource_id, { status, problem, replaces });
      }),
    setRestarts: (part, { restart_count, last_restart_at }) =>
      inTransaction(context, async (tx) => {
        const { resource_id: id } = part;
        const resource = await tx.db.selectFrom("resource").select("kind").where("id", "=", id).executeTakeFirst();
        if (resource === undefined) return;
        const isOneOfSeveral = resource.kind === "application" && (await change(tx, part, { restart_count }));
        const shown = isOneOfSeveral ? worst<number>(id, sql`max(restart_count)`) : restart_count;
        await sql`update ${sql.table(resource.kind)} set restart_count = ${shown},
          last_restart_at = ${last_restart_at} where resource_id = ${id}`.execute(tx.db);
      }),
    setScaleProblem: (part, problem) =>
      inTransaction(context, async (tx) => {
        const { resource_id: id } = part;
        const scale_problem = problem && storable(problem);
        const isOneOfSeveral = await change(tx, part, { scale_problem });
        const own = tx.db.selectFrom("application").where("resource_id", "=", id);
        const before = await own.select("scale_problem").forUpdate().executeTakeFirst();
        if (before === undefined || (!isOneOfSeveral && before.scale_problem === scale_problem)) return false;
        const shown = isOneOfSeveral ? worst<string | null>(id, sql`min(scale_problem)`) : scale_problem;
        await tx.db.updateTable("application").set({ scale_problem: shown }).where("resource_id", "=", id).execute();
        return problem !== null && before.scale_problem === null;
      }),
    giveUp: (part) => inTransaction(context, (tx) => change(tx, part, { is_given_up: true })),
  };
}

/** Leaves the row as it is if its status is another one. */
const seenInPlaceOf = (replaced: string, { status, status_problem }: Pick<Observed, "status" | "status_problem">) => ({
  status: sql<string>`case when status = ${replaced} then ${status} else status end`,
  status_problem: sql<string | null>`case when status = ${replaced} then ${status_problem} else status_problem end`,
});

interface Observed {
  readonly status?: string | RawBuilder<string>;
  readonly status_problem?: string | null | RawBuilder<string | null>;
  readonly restart_count?: number;
  readonly scale_problem?: string | null;
  readonly is_given_up?: boolean;
}

/**
 * Locks a resource on several servers, since what is observed on each of them is combined: without the lock, two
 * servers would each combine with what the other one had before.
 * @returns `false` if the resource is on one server.
 */
async function change(
  { db }: StoreContext,
  { resource_id, server_id }: Parameters<SystemResourceStore["giveUp"]>[0],
  observed: Observed,
): Promise<boolean> {
  const several = await db
    .selectFrom("resource")
    .select("id")
    .where("id", "=", resource_id)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("application_destination as attached")
          .select("attached.server_id")
          .whereRef("attached.resource_id", "=", "resource.id")
          .where("attached.server_id", "=", server_id),
      ),
    )
    .forNoKeyUpdate("resource")
    .executeTakeFirst();
  if (several === undefined) return false;
  const { numUpdatedRows } = await db
    .updateTable("application_destination")
    .set(observed)
    .where("resource_id", "=", resource_id)
    .where("server_id", "=", server_id)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

const worst = <T>(resourceId: number, value: RawBuilder<unknown>) =>
  sql<T>`(select ${value} from application_destination where resource_id = ${resourceId})`;

/** Gives a resource what is observed on all of its servers. Where one is left, that becomes the resource's own. */
async function combine(context: StoreContext, resourceId: number): Promise<void> {
  const rows = await context.db
    .selectFrom("application_destination")
    .select(["status", "status_problem"])
    .where("resource_id", "=", resourceId)
    .orderBy("server_id")
    .execute();
  if (rows.length === 0) return;
  await setResourceStatus(context, resourceId, {
    status: combinedStatus(rows.map(({ status }) => status)),
    problem: rows.find(({ status_problem }) => status_problem !== null)?.status_problem,
  });
  if (rows.length > 1) return;
  await sql`update application set (restart_count, scale_problem) = (
      select restart_count, scale_problem from application_destination where resource_id = ${resourceId})
    where resource_id = ${resourceId}`.execute(context.db);
  await context.db.deleteFrom("application_destination").where("resource_id", "=", resourceId).execute();
}
