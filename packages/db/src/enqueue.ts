import { DomainError, notFound } from "@berth/core";
import { isQueueFull } from "@berth/core/deploy";
import type { DeploymentRecord, EnqueueOutcome, NewDeployment } from "@berth/core/ports";
import { ServerSettings } from "@berth/core/server";
import { sql } from "kysely";
import { idsOf, inTransaction, type TeamContext, wakeWorkers } from "./context.ts";
import { DEPLOYMENT_COLUMNS, emitDeploymentEvent, isActive } from "./deployment-row.ts";
import { pick } from "./pick.ts";
import { storableJson } from "./storable.ts";

/** State of the queue, read under the locks of all servers involved. */
interface QueueState {
  /** By server id. */
  readonly limits: ReadonlyMap<number, number>;
  readonly queued: ReadonlyMap<number, number>;
  /** Active deployments of the resources involved, oldest first. */
  readonly active: readonly DeploymentRecord[];
}

type Decision =
  | { readonly type: "insert"; readonly deployment: NewDeployment }
  | { readonly type: "duplicate"; readonly of: { readonly uuid: string } };

/**
 * Decides on all deployments under the servers' locks, then inserts them. If one is `full`, every outcome is, and
 * nothing was inserted.
 */
export function enqueue(
  context: TeamContext,
  deployments: readonly NewDeployment[],
): Promise<readonly EnqueueOutcome[]> {
  if (deployments.length === 0) return Promise.resolve([]);
  return inTransaction(context, async (tx) => {
    const serverIds = unique(deployments.map(({ server_id }) => server_id));
    const limits = await lockServers(tx, serverIds);
    const resources = await ownResources(tx, unique(deployments.map(({ resource_id }) => resource_id)));
    if (limits.size < serverIds.length) throw notFound("Server");
    if (deployments.some(({ resource_id }) => !resources.has(resource_id))) throw notFound("Resource");
    const state = {
      limits,
      queued: await countQueued(tx, serverIds),
      active: await activeOf(tx, [...resources.keys()]),
    };
    const decided = decide(deployments, state);
    if ("fullLimit" in decided) return deployments.map(() => ({ outcome: "full", limit: decided.fullLimit }) as const);
    const inserted = await insert(tx, decided.decisions, resources);
    return decided.decisions.map((decision) => outcomeOf(decision, inserted, state.active));
  });
}

function decide(
  deployments: readonly NewDeployment[],
  { limits, queued, active }: QueueState,
): { readonly decisions: readonly Decision[] } | { readonly fullLimit: number } {
  const waiting: WantedDeployment[] = [...active];
  const counts = new Map(queued);
  const decisions: Decision[] = [];
  const duplicates = new Map<string, string>();
  for (const asked of deployments) {
    const deployment = { ...asked, follows: asked.follows && (duplicates.get(asked.follows) ?? asked.follows) };
    const duplicate = mayBeDuplicate(deployment) ? waiting.find((other) => covers(other, deployment)) : undefined;
    // It takes no place in the queue, so it is returned even if the queue is full (D14).
    if (duplicate !== undefined) {
      decisions.push({ type: "duplicate", of: duplicate });
      duplicates.set(deployment.uuid, duplicate.uuid);
      continue;
    }
    const count = counts.get(deployment.server_id) ?? 0;
    const limit = limits.get(deployment.server_id) ?? 0;
    if (isQueueFull(count, limit)) return { fullLimit: limit };
    counts.set(deployment.server_id, count + 1);
    waiting.push(deployment);
    decisions.push({ type: "insert", deployment });
  }
  return { decisions };
}

type WantedDeployment = Pick<
  NewDeployment,
  | "uuid"
  | "resource_id"
  | "server_id"
  | "pull_request_id"
  | "commit"
  | "docker_registry_image_tag"
  | "restart_only"
  | "keeps_unchanged"
  | "rollback_to"
> &
  Partial<Pick<DeploymentRecord, "status" | "cancel_requested_at">>;

const mayBeDuplicate = ({ force_rebuild, rollback, is_instant }: NewDeployment) =>
  !force_rebuild && !rollback && !is_instant;

/** Whether `earlier` already does everything that `later` asks for. */
function covers(earlier: WantedDeployment, later: NewDeployment): boolean {
  if (earlier.resource_id !== later.resource_id || earlier.pull_request_id !== later.pull_request_id) return false;
  if (earlier.server_id !== later.server_id) return false;
  if (earlier.commit !== later.commit || earlier.restart_only !== later.restart_only) return false;
  // It may leave containers running that `later` replaces.
  if (earlier.keeps_unchanged && !later.keeps_unchanged) return false;
  // It runs another build than the newest of that commit.
  if (earlier.rollback_to !== later.rollback_to) return false;
  if (earlier.docker_registry_image_tag !== later.docker_registry_image_tag) return false;
  // It will end without having done it.
  if (earlier.cancel_requested_at) return false;
  // It may have begun to fetch before the push that `later` is about.
  return !(earlier.status === "in_progress" && earlier.commit === NEWEST);
}

/** The commit of a deployment of the branch's newest commit, before the source was fetched. */
const NEWEST = "HEAD";

/** Locked in the order of their ids, so that two requests for the same servers cannot deadlock. */
async function lockServers({ db, teamId }: TeamContext, ids: readonly number[]): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom("server")
    .select(["id", sql<number | null>`(settings ->> 'deployment_queue_limit')::int`.as("limit")])
    .where("team_id", "=", teamId)
    .where("id", "in", idsOf(ids))
    .orderBy("id")
    // Excludes other enqueues, but not inserts elsewhere that only refer to the server.
    .forNoKeyUpdate()
    .execute();
  return new Map(rows.map(({ id, limit }) => [id, limit ?? DEFAULT_LIMIT]));
}

const DEFAULT_LIMIT = ServerSettings.parse({}).deployment_queue_limit;

async function ownResources({ db, teamId }: TeamContext, ids: readonly number[]) {
  const rows = await db
    .selectFrom("resource")
    .select(["id", "uuid", "name", "removing_at"])
    .where("team_id", "=", teamId)
    .where("id", "in", idsOf(ids))
    .orderBy("id")
    // Waits for a removal that is being requested, and delays a later one.
    .forKeyShare()
    .execute();
  const removed = rows.find(({ removing_at }) => removing_at !== null);
  if (removed !== undefined) throw beingRemoved(removed.name);
  return new Map(rows.map((row) => [row.id, row]));
}

async function countQueued({ db }: TeamContext, serverIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom("deployment")
    .select(({ fn }) => ["server_id", fn.countAll<number>().as("count")])
    .where("status", "=", sql.lit("queued" as const))
    .where("server_id", "in", idsOf(serverIds))
    .groupBy("server_id")
    .execute();
  return new Map(rows.map(({ server_id, count }) => [server_id, count]));
}

const activeOf = ({ db }: TeamContext, resourceIds: readonly number[]): Promise<readonly DeploymentRecord[]> =>
  db
    .selectFrom("deployment")
    .select(DEPLOYMENT_COLUMNS)
    .where("resource_id", "in", idsOf(resourceIds))
    .where(isActive)
    .orderBy("id")
    .execute();

const FIELDS = [
  "uuid",
  "resource_id",
  "server_id",
  "destination_id",
  "pull_request_id",
  "commit",
  "force_rebuild",
  "restart_only",
  "keeps_unchanged",
  "rollback",
  "rollback_to",
  "follows",
  "is_webhook",
  "is_api",
  "git_type",
  "docker_registry_image_tag",
  "is_instant",
] as const;

async function insert(
  context: TeamContext,
  decisions: readonly Decision[],
  resources: ReadonlyMap<number, { readonly uuid: string; readonly name: string }>,
): Promise<readonly DeploymentRecord[]> {
  const values = decisions.flatMap((decision) => {
    if (decision.type === "duplicate") return [];
    const { deployment } = decision;
    const { uuid: resource_uuid = "", name: resource_name = "" } = resources.get(deployment.resource_id) ?? {};
    const queued = { ...pick(deployment, FIELDS), team_id: context.teamId, resource_uuid, resource_name };
    return [{ ...queued, actor: context.actor ? storableJson(context.actor) : null }];
  });
  if (values.length === 0) return [];
  const inserted = await context.db.insertInto("deployment").values(values).returning(DEPLOYMENT_COLUMNS).execute();
  for (const deployment of inserted) emitDeploymentEvent(context, deployment, "deployment.queued");
  wakeWorkers(context, "deployment");
  return inserted;
}

function outcomeOf(
  decision: Decision,
  inserted: readonly DeploymentRecord[],
  active: readonly DeploymentRecord[],
): EnqueueOutcome {
  const uuid = decision.type === "insert" ? decision.deployment.uuid : decision.of.uuid;
  const deployment = [...inserted, ...active].find((record) => record.uuid === uuid);
  if (deployment === undefined) throw new Error(`The deployment ${uuid} was neither inserted nor active`);
  return { outcome: decision.type === "insert" ? "queued" : "duplicate", deployment };
}

const beingRemoved = (name: string) =>
  new DomainError("resource.state", `${name} is being removed, so it cannot be deployed.`);

const unique = (ids: readonly number[]): readonly number[] => [...new Set(ids)];
