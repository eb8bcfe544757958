import { isTerminal } from "@berth/core/deploy";
import type { DeploymentRecord, DeploymentStore, ServerDeploymentRecord } from "@berth/core/ports";
import { sql } from "kysely";
import { jsonArrayFrom } from "kysely/helpers/postgres";
import { deploymentTopic } from "./changes.ts";
import { inTransaction, type TeamContext, wakeWorkers } from "./context.ts";
import { LINE_COLUMNS, readLog } from "./deployment-log.ts";
import {
  DEPLOYMENT_COLUMNS,
  emitDeploymentEvent,
  inOrder,
  isActive,
  readSteps,
  SHOWN_STEP_COLUMNS,
} from "./deployment-row.ts";
import { enqueue } from "./enqueue.ts";
import { endFollowing } from "./following-deployment.ts";
import { ofOwner, page, within } from "./page.ts";

const WAIT_MS_MAX = 1_000;

export function deploymentStore(context: TeamContext): DeploymentStore {
  const { db, teamId, database } = context;
  const own = () => db.selectFrom("deployment").where("deployment.team_id", "=", teamId);
  const seen = seenVersions(context);
  const isOwn = async (id: number) => (await own().select("id").where("id", "=", id).executeTakeFirst()) !== undefined;

  return {
    listActive: (paging = {}) =>
      page(
        paging,
        (window) =>
          within(
            own().select(DEPLOYMENT_COLUMNS).where(isActive).where(isOfApplication).orderBy("deployment.id"),
            window,
          ).execute(),
        async () => {
          // Counts rows of the partial index: only waiting and running deployments, however many there ever were.
          const { total } = await own()
            .where(isActive)
            .where(isOfApplication)
            .select(({ fn }) => fn.countAll<number>().as("total"))
            .executeTakeFirstOrThrow();
          return total;
        },
      ),
    listByResource: (resourceId, { pull_request_id: pullRequestId }, paging = {}) =>
      page(
        paging,
        (window) => {
          let query = own().select(DEPLOYMENT_COLUMNS);
          if (pullRequestId !== undefined) query = query.where("pull_request_id", "=", pullRequestId);
          const newestFirst = ofOwner(query, {
            owner: "deployment.resource_id",
            is: resourceId,
            id: "deployment.id",
            direction: "desc",
          });
          return within(newestFirst, window).execute();
        },
        () => keptTotal(context, resourceId, pullRequestId),
      ),
    newestOf: (resourceIds) =>
      own().select(LAST_DEPLOYMENT_COLUMNS).where("deployment.id", "in", newestIds(resourceIds)).execute(),
    async newestOn(resourceId, serverIds) {
      const { rows } = await sql<ServerDeploymentRecord>`
        select distinct on (server_id) uuid, server_id, status, "commit", error, finished_at, follows from (
          select * from deployment where resource_id between ${resourceId}::bigint and ${resourceId}::bigint
            and pull_request_id between 0 and 0 and team_id = ${teamId}
          order by resource_id desc, pull_request_id desc, id desc limit ${NEWEST_ON_LIMIT}) newest
        where server_id = any(${serverIds}::bigint[]) order by server_id, id desc`.execute(db);
      return rows;
    },
    async find(uuid) {
      const clock = database.changes.clock();
      const found = await own().select(DEPLOYMENT_COLUMNS).where("deployment.uuid", "=", uuid).executeTakeFirst();
      if (found !== undefined) seen.remember(found.id, clock);
      return found;
    },
    async steps(deploymentId) {
      seen.remember(deploymentId, database.changes.clock());
      return (await isOwn(deploymentId)) ? await readSteps(context, deploymentId) : [];
    },
    async log(deploymentId, query) {
      seen.remember(deploymentId, database.changes.clock());
      return await readLog(context, deploymentId, query);
    },
    async progress(uuid, { after, take }) {
      const clock = database.changes.clock();
      const found = await own()
        .select(DEPLOYMENT_COLUMNS)
        .select((eb) => [
          jsonArrayFrom(
            eb
              .selectFrom("deployment_step")
              .select(SHOWN_STEP_COLUMNS)
              .whereRef("deployment_step.deployment_id", "=", "deployment.id"),
          ).as("steps"),
          jsonArrayFrom(
            eb
              .selectFrom("deployment_log")
              .select(LINE_COLUMNS)
              .whereRef("deployment_log.deployment_id", "=", "deployment.id")
              .where("seq", ">", after)
              .orderBy("seq")
              .limit(take),
          ).as("lines"),
        ])
        .where("deployment.uuid", "=", uuid)
        .executeTakeFirst();
      if (found === undefined) return undefined;
      const { steps, lines, ...deployment } = found;
      seen.remember(deployment.id, clock);
      return { deployment, steps: inOrder(steps.map(withTimes)), lines: lines.map(withTime) };
    },
    changed: (deploymentId, signal) => seen.wait(deploymentId, signal),
    enqueue: (deployments) => enqueue(context, deployments),
    requestCancel: (uuid) =>
      inTransaction(context, async (tx) => {
        const found = await tx.db
          .selectFrom("deployment")
          .select(DEPLOYMENT_COLUMNS)
          .where("team_id", "=", teamId)
          .where("uuid", "=", uuid)
          .forNoKeyUpdate()
          .executeTakeFirst();
        if (found === undefined || isTerminal(found.status) || found.cancel_requested_at !== null) return found;
        const cancelled = await cancel(tx, found);
        wakeWorkers(tx, "deployment", "resource");
        return cancelled;
      }),
  };
}

/** JSON has times as texts. */
const withTimes = <Step extends Readonly<Record<"started_at" | "finished_at", string | null>>>(step: Step) => ({
  ...step,
  started_at: step.started_at === null ? null : new Date(step.started_at),
  finished_at: step.finished_at === null ? null : new Date(step.finished_at),
});

const withTime = <Line extends { readonly timestamp: string }>(line: Line) => ({
  ...line,
  timestamp: new Date(line.timestamp),
});

/** Deployments are to all servers as a rule, so the newest to each is among the first few. */
const NEWEST_ON_LIMIT = sql.lit(1000);

/** Ranges of one value, so that the order is that of an index: see `ofOwner`. */
const newestIds = (resourceIds: readonly number[]) => sql<number>`(
  select newest.id from unnest(${resourceIds}::bigint[]) wanted (id) cross join lateral (
    select deployment.id from deployment
    where deployment.resource_id between wanted.id and wanted.id and deployment.pull_request_id between 0 and 0
    order by deployment.resource_id desc, deployment.pull_request_id desc, deployment.id desc limit 1) newest)`;

const LAST_DEPLOYMENT_COLUMNS = [
  "deployment.uuid",
  "deployment.resource_id",
  "deployment.status",
  "deployment.error",
  "deployment.commit",
  "deployment.commit_message",
  "deployment.actor",
  "deployment.is_webhook",
  "deployment.created_at",
  "deployment.started_at",
  "deployment.finished_at",
] as const;

const isOfApplication = sql<boolean>`exists (
  select from resource where resource.id = deployment.resource_id and resource.kind = 'application')`;

/** Its row is locked, so that nobody starts or ends it meanwhile. */
async function cancel(context: TeamContext, { id, status }: DeploymentRecord): Promise<DeploymentRecord> {
  const now = sql<Date>`now()`;
  const isQueued = status === "queued";
  const cancelled = await context.db
    .updateTable("deployment")
    .set({
      cancel_requested_at: now,
      updated_at: now,
      ...(isQueued ? { status: "cancelled-by-user" as const, finished_at: now } : {}),
    })
    .where("id", "=", id)
    .returning(DEPLOYMENT_COLUMNS)
    .executeTakeFirstOrThrow();
  emitDeploymentEvent(context, cancelled, isQueued ? "deployment.cancelled" : "deployment.cancel_requested");
  if (isQueued) await endFollowing(context, cancelled);
  return cancelled;
}

/** Kept by triggers, with a row for each pull request. */
async function keptTotal({ db, teamId }: TeamContext, resourceId: number, pullRequestId?: number): Promise<number> {
  const { total } = await db
    .selectFrom("deployment_count")
    .innerJoin("resource", "resource.id", "deployment_count.resource_id")
    .where("resource.id", "=", resourceId)
    .where("resource.team_id", "=", teamId)
    .$if(pullRequestId !== undefined, (query) => query.where("pull_request_id", "=", pullRequestId ?? 0))
    .select(sql<number>`coalesce(sum(total), 0)::bigint`.as("total"))
    .executeTakeFirstOrThrow();
  return total;
}

/**
 * The version of each deployment that the caller has read. `changed` resolves at once if there was a notification
 * since the first read after the last wait, so a follower that reads, then waits, misses nothing.
 */
function seenVersions({ database: { changes } }: TeamContext) {
  const seen = new Map<number, number>();
  return {
    remember(id: number, clock: number): void {
      if (!seen.has(id)) seen.set(id, clock);
    },
    async wait(id: number, signal: AbortSignal): Promise<void> {
      await changes.wait(deploymentTopic(id), seen.get(id) ?? changes.clock(), signal, WAIT_MS_MAX);
      seen.delete(id);
    },
  };
}
