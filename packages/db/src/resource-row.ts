import type { CertificateProblem } from "@berth/core/application";
import type { ResourceRecord, ResourceStore } from "@berth/core/ports";
import { sql } from "kysely";
import { emit, inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { storable } from "./storable.ts";

export const RESOURCE_COLUMNS = [
  "resource.id",
  "resource.uuid",
  "resource.kind",
  "resource.team_id",
  "resource.environment_id",
  "resource.server_id",
  "resource.destination_id",
  "resource.name",
  "resource.description",
  "resource.status",
  "resource.status_problem",
  "resource.desired_state",
  "resource.stop_reason",
  "resource.removing_at",
  "resource.delete_volumes",
  "resource.docker_cleanup",
  "resource.delete_connected_networks",
  "resource.created_at",
  "resource.updated_at",
] as const;

/** Of what should run: the URLs of a stopped resource need no certificate. */
export const CERTIFICATE_PROBLEM = sql<CertificateProblem | null>`(
  select jsonb_build_object('reason', reason, 'is_refused', is_refused) from certificate_problem
  where resource_id = resource.id and resource.desired_state = 'running' and resource.removing_at is null
  order by is_refused desc, host limit 1)`;

/** Kept by triggers, with a row for each kind, environment and server of the team. */
export async function keptTotal(
  { db, teamId }: TeamContext,
  filter: Parameters<ResourceStore["list"]>[0],
): Promise<number> {
  let query = db.selectFrom("resource_count").where("team_id", "=", teamId);
  if (filter.kind !== undefined) query = query.where("kind", "=", filter.kind);
  if (filter.environment_id !== undefined) query = query.where("environment_id", "=", filter.environment_id);
  if (filter.server_id !== undefined) query = query.where("server_id", "=", filter.server_id);
  const { total } = await query
    .select(sql<number>`coalesce(sum(total), 0)::bigint`.as("total"))
    .executeTakeFirstOrThrow();
  return total;
}

export function emitResourceEvent(
  context: StoreContext,
  resource: Pick<ResourceRecord, "team_id" | "uuid" | "kind" | "name">,
  type:
    | "resource.created"
    | "resource.removing"
    | "resource.deleted"
    | "resource.status_changed"
    | "resource.certificate_changed",
  payload: Readonly<Record<string, unknown>> = {},
): void {
  const { team_id, uuid, kind, name } = resource;
  emit(context, {
    team_id,
    type,
    resource_uuid: uuid,
    payload: { resource_kind: kind, resource_name: name, ...payload },
  });
}

/** Observed every few seconds, so it is written and reported only when it changed. */
export function setResourceStatus(
  context: StoreContext,
  id: number,
  {
    status,
    problem = null,
    replaces,
  }: { readonly status: string; readonly problem?: string | null | undefined; readonly replaces?: string | undefined },
): Promise<void> {
  const status_problem = problem && storable(problem);
  return inTransaction(context, async (tx) => {
    const before = await tx.db
      .selectFrom("resource")
      .select(["team_id", "uuid", "kind", "name", "status", "desired_state"])
      .where("id", "=", id)
      .where(({ or, eb }) => or([eb("status", "!=", status), eb("status_problem", "is distinct from", status_problem)]))
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (before === undefined || (replaces !== undefined && before.status !== replaces)) return;
    await tx.db
      .updateTable("resource")
      .set({ status, status_problem, updated_at: sql<Date>`now()` })
      .where("id", "=", id)
      .execute();
    const isOrWasOnline = [before.status, status].some((state) => state.startsWith("running"));
    if (isOrWasOnline) {
      await sql`update ${sql.table(before.kind)} set last_online_at = now() where resource_id = ${id}`.execute(tx.db);
    }
    const { status: previous_status, desired_state } = before;
    const seen = { status, previous_status, desired_state, ...(status_problem === null ? {} : { status_problem }) };
    emitResourceEvent(tx, before, "resource.status_changed", seen);
  });
}
