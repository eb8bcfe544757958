import { STEP_NAMES, sourcesOf } from "@berth/core/deploy";
import type { ClaimedDeployment, DeploymentRecord, Lease, StepChange, SystemDeploymentStore } from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import { ServerSettings } from "@berth/core/server";
import { sql } from "kysely";
import { QUEUE_TOPIC } from "./changes.ts";
import { idsOf, inTransaction, notifyDeployment, type StoreContext, undefinedOn, wakeWorkers } from "./context.ts";
import { appendLog } from "./deployment-log.ts";
import { DEPLOYMENT_COLUMNS, emitDeploymentEvent, isActive, readSteps, stepPlace } from "./deployment-row.ts";
import { violates } from "./errors.ts";
import { endFollowing, passCommitOn } from "./following-deployment.ts";
import { isWithinShare, leaseEnd, renewRuns, runsByTeam, runsOfTeam } from "./leased-run.ts";
import { sealStacks } from "./sealed-stack.ts";
import { storable, storableJson } from "./storable.ts";

type Claim = ClaimedDeployment | undefined;

const DEFAULT_CONCURRENT_BUILDS = ServerSettings.parse({}).concurrent_builds;
const ENDED_EVENTS = {
  finished: "deployment.finished",
  failed: "deployment.failed",
  "cancelled-by-user": "deployment.cancelled",
} as const;

export function systemDeploymentStore(context: StoreContext): SystemDeploymentStore {
  const { db, database } = context;
  const all = () => db.selectFrom("deployment").select(DEPLOYMENT_COLUMNS);
  let wokenAt = database.changes.clock();

  return {
    async claimNext(request, serverIds) {
      for (;;) {
        const candidate = await nextRunnable(context, request, serverIds);
        if (candidate === undefined) return undefined;
        // Another worker may have been faster; then there is another candidate, or none.
        const claimed = await claimOnServer(context, candidate.server_id, request);
        if (claimed !== undefined) return claimed;
      }
    },
    claimAbandoned: (owner, leaseSeconds, serverIds) => claimAbandoned(context, owner, leaseSeconds, serverIds),
    renew: renewRuns(context, "deployment"),
    find: (id) => all().where("deployment.id", "=", id).executeTakeFirst(),
    listActive: (serverId) =>
      all().where("server_id", "=", serverId).where(isActive).orderBy("deployment.id").execute(),
    listActiveOf: (resourceId) =>
      all().where("resource_id", "=", resourceId).where(isActive).orderBy("deployment.id").execute(),
    listBuilding: (serverIds) =>
      all().where("build_server_id", "in", idsOf(serverIds)).where(isActive).orderBy("deployment.id").execute(),
    steps: (deploymentId) => readSteps(context, deploymentId),
    saveStep: (lease, name, step, { begins, lines = [] } = {}) =>
      withLease(context, lease, async (tx) => {
        const begun = begins === undefined ? [] : [{ name: begins, status: "running" as const }];
        await saveSteps(tx, lease.deployment_id, [{ name, ...step }, ...begun]);
        await appendLog(tx)(lease.deployment_id, lines);
        return true;
      }).then((isSaved) => isSaved ?? false),
    saveRetirement: (deploymentId, step, lines = []) =>
      inTransaction(context, async (tx) => {
        await saveSteps(tx, deploymentId, [{ name: "retire", ...step }]);
        await appendLog(tx)(deploymentId, lines);
      }),
    saveCommit: (lease, commit, message) =>
      change(context, lease, { commit, commit_message: message && storable(message) }),
    saveBuildServer: (lease, build_server_id) => change(context, lease, { build_server_id }),
    takeBuildServer: (lease, serverId) => takeBuildServer(context, lease, serverId),
    appendLog: appendLog(context),
    finish: (lease, status, error) =>
      inTransaction(context, async (tx) => {
        const now = sql<Date>`now()`;
        const ended = await tx.db
          .updateTable("deployment")
          .set({ status, error: error && storable(error), finished_at: now, updated_at: now, lease_expires_at: null })
          .where(isHeldBy(lease))
          .where("status", "in", sourcesOf(status))
          .returning(DEPLOYMENT_COLUMNS)
          .executeTakeFirst();
        if (ended === undefined) return false;
        locked.delete(tx.db);
        emitDeploymentEvent(tx, ended, ENDED_EVENTS[status]);
        await endFollowing(tx, ended);
        // Its place on the server is free again, and its previous release can be removed.
        wakeWorkers(tx, "deployment", "resource");
        return true;
      }),
    async wakeUp(signal, timeoutSeconds) {
      await database.changes.wait(QUEUE_TOPIC, wokenAt, signal, timeoutSeconds * 1000);
      const topics = database.changes.wakes(wokenAt);
      wokenAt = database.changes.clock(); // Every waiting worker looks after this.
      return topics;
    },
  };
}

/** Updates a deployment if its lease is still ours, and wakes whatever reads its changes. */
async function change(
  context: StoreContext,
  lease: Lease,
  fields: Partial<Pick<DeploymentRecord, "commit" | "commit_message" | "build_server_id">>,
): Promise<boolean> {
  const isWritten = await withLease(context, lease, async (tx) => {
    const changed = await tx.db
      .updateTable("deployment")
      .set({ ...fields, updated_at: sql<Date>`now()` })
      .where("id", "=", lease.deployment_id)
      .returning(["uuid", "commit", "commit_message"])
      .executeTakeFirstOrThrow();
    if (fields.commit !== undefined) await passCommitOn(tx, changed);
    notifyDeployment(tx, lease.deployment_id);
    return true;
  });
  return isWritten ?? false;
}

const isHeldBy = ({ deployment_id, owner, attempt }: Lease) => sql<boolean>`deployment.id = ${deployment_id}
  and deployment.lease_owner = ${owner} and deployment.attempt = ${attempt} and deployment.status = 'in_progress'`;

/** The leases that transactions have locked, which therefore cannot be lost before their end. */
const locked = new WeakMap<StoreContext["db"], Lease>();

const isSameLease = (a: Lease, b: Lease | undefined) =>
  a.deployment_id === b?.deployment_id && a.owner === b.owner && a.attempt === b.attempt;

/** Runs `work` with the deployment's row locked, so that nobody can take over the lease meanwhile. */
export function withLease<T>(
  context: StoreContext,
  lease: Lease,
  work: (context: StoreContext) => Promise<T>,
): Promise<T | undefined> {
  return inTransaction(context, async (tx) => {
    if (isSameLease(lease, locked.get(tx.db))) return await work(tx);
    const held = await tx.db
      .selectFrom("deployment")
      .select("id")
      .where(isHeldBy(lease))
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (held === undefined) return undefined;
    locked.set(tx.db, lease);
    return await work(tx);
  });
}

/** Under the build server's lock, so that nobody else takes a place or starts a deployment to it. */
async function takeBuildServer(
  context: StoreContext,
  lease: Lease,
  serverId: number,
): Promise<"taken" | "full" | "lost"> {
  const answer = await inTransaction(context, async (tx) => {
    // Everywhere in this order, to avoid deadlocks: the server, then the deployment.
    const server = await tx.db
      .selectFrom("server")
      .select(concurrentBuilds.as("limit"))
      .where("id", "=", serverId)
      .forNoKeyUpdate()
      .executeTakeFirst();
    return await withLease(tx, lease, async (held) => {
      const { is_instant = false, server_id } =
        (await held.db
          .selectFrom("deployment")
          .select(["is_instant", "server_id"])
          .where("id", "=", lease.deployment_id)
          .executeTakeFirst()) ?? {};
      // A deployment to the same server has had its place there since it was claimed.
      const isFree = is_instant || server_id === serverId;
      if (!isFree && (await busyPlaces(held, serverId, lease.deployment_id)) >= (server?.limit ?? 0)) return "full";
      await held.db
        .updateTable("deployment")
        .set({ build_server_id: serverId, updated_at: sql<Date>`now()` })
        .where("id", "=", lease.deployment_id)
        .execute();
      notifyDeployment(held, lease.deployment_id);
      return "taken" as const;
    });
  });
  return answer ?? "lost";
}

/** Number of deployments to a server, and of builds on it for other servers. */
async function busyPlaces({ db }: StoreContext, serverId: number, except: number): Promise<number> {
  const { count } = await db
    .selectFrom("deployment")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("status", "=", sql.lit("in_progress" as const))
    .where("deployment.id", "!=", except)
    .where(
      sql<boolean>`(deployment.server_id = ${serverId} or (deployment.build_server_id = ${serverId} and ${isBuilding}))`,
    )
    .executeTakeFirstOrThrow();
  return count;
}

const isBuilding = sql<boolean>`exists (select from deployment_step step where step.deployment_id = deployment.id
  and step.name = 'build' and step.status = 'running')`;

const concurrentBuilds = sql<number>`coalesce((server.settings ->> 'concurrent_builds')::int, ${sql.lit(DEFAULT_CONCURRENT_BUILDS)})`;

type Share = Parameters<SystemDeploymentStore["claimNext"]>[0];

/**
 * The oldest queued deployment that may run now, of the team that has the fewest running. One that may not does not stand
 * in the way of those behind it. An instant one does not count what runs on the server, yet waits for its own resource
 * like any other (D33). One of a preview that was opened while it is being removed waits for the end of that, and one to
 * another server for the end of that to the first.
 */
async function nextRunnable(
  { db }: StoreContext,
  share: Share,
  serverIds: readonly number[] | undefined,
): Promise<{ readonly id: number; readonly server_id: number } | undefined> {
  return await db
    .with("running", (qb) =>
      qb
        .selectFrom("deployment")
        // Builds for other servers take places too.
        .crossJoinLateral(
          sql<{ server_id: number }>`(select deployment.server_id union
            select deployment.build_server_id where deployment.build_server_id is not null and ${isBuilding})`.as(
            "place",
          ),
        )
        .select(({ fn }) => ["place.server_id", fn.countAll<number>().as("count")])
        .where("status", "=", sql.lit("in_progress" as const))
        .groupBy("place.server_id"),
    )
    .with(
      (busy) => busy("busy").materialized(),
      () => runsByTeam(sql`select team_id from deployment where status = 'in_progress'`),
    )
    .selectFrom("deployment")
    .innerJoin("server", "server.id", "deployment.server_id")
    .leftJoin("running", "running.server_id", "deployment.server_id")
    .select(["deployment.id", "deployment.server_id"])
    .where("deployment.status", "=", sql.lit("queued" as const))
    .where(isWithinShare(share, "deployment.team_id"))
    .where(
      sql<boolean>`(deployment.is_instant or coalesce(running.count, 0)
        < ${concurrentBuilds})`,
    )
    .where(
      sql<boolean>`not exists (select from deployment other where other.status = 'in_progress'
        and other.resource_id = deployment.resource_id and other.pull_request_id = deployment.pull_request_id)`,
    )
    .where(
      sql<boolean>`(deployment.follows is null or not exists (select from deployment first
        where first.uuid = deployment.follows and first.status in ('queued', 'in_progress')))`,
    )
    .where(
      sql<boolean>`(deployment.pull_request_id = 0 or not exists (select from application_preview preview
        where preview.resource_id = deployment.resource_id and preview.pull_request_id = deployment.pull_request_id
        and preview.removing_at is not null))`,
    )
    .$if(serverIds !== undefined, (query) => query.where("deployment.server_id", "in", idsOf(serverIds ?? [])))
    .orderBy(runsOfTeam("deployment.team_id"))
    .orderBy("deployment.id")
    .limit(1)
    .executeTakeFirst();
}

/** Checks again under the server's lock, so that nobody else starts or queues anything. */
async function claimOnServer(context: StoreContext, serverId: number, request: Share): Promise<Claim> {
  const { owner, leaseSeconds } = request;
  return await undefinedOn(
    // A deployment of the same resource was started at the same time, on another server.
    (error) => violates(error, "deployment_one_running"),
    () =>
      inTransaction(context, async (tx) => {
        await tx.db.selectFrom("server").select("id").where("id", "=", serverId).forNoKeyUpdate().execute();
        const next = await nextRunnable(tx, request, [serverId]);
        if (next === undefined) return undefined;
        const claimed = await tx.db
          .updateTable("deployment")
          .set({
            status: "in_progress",
            attempt: sql<number>`attempt + 1`,
            lease_owner: owner,
            lease_expires_at: leaseEnd(leaseSeconds),
            started_at: sql<Date>`now()`,
            updated_at: sql<Date>`now()`,
          })
          .where("id", "=", next.id)
          .where("status", "in", sourcesOf("in_progress"))
          .returning(CLAIMED_COLUMNS)
          .executeTakeFirst();
        if (claimed === undefined) return undefined; // it was cancelled at this moment
        await planSteps(tx, claimed.id);
        emitDeploymentEvent(tx, claimed, "deployment.started");
        return claim(claimed, owner);
      }),
  );
}

/** All at the start, so that readers see the steps to come. */
async function planSteps({ db }: StoreContext, deploymentId: number): Promise<void> {
  const planned = STEP_NAMES.map((name) => ({
    deployment_id: deploymentId,
    name,
    status: "pending" as const,
    started_at: null,
    finished_at: null,
    output: null,
    error: null,
    error_code: null,
  }));
  await db.insertInto("deployment_step").values(planned).execute();
}

async function claimAbandoned(
  { db }: StoreContext,
  owner: string,
  leaseSeconds: number,
  serverIds: readonly number[] | undefined,
): Promise<Claim> {
  const claimed = await db
    .with("abandoned", (qb) =>
      qb
        .selectFrom("deployment")
        .select("id")
        .where("status", "=", sql.lit("in_progress" as const))
        .where("lease_expires_at", "<=", sql<Date>`clock_timestamp()`)
        .$if(serverIds !== undefined, (query) => query.where("server_id", "in", idsOf(serverIds ?? [])))
        .orderBy("id")
        .limit(1)
        .forNoKeyUpdate()
        .skipLocked(),
    )
    .updateTable("deployment")
    .from("abandoned")
    .set({
      attempt: sql<number>`deployment.attempt + 1`,
      lease_owner: owner,
      lease_expires_at: leaseEnd(leaseSeconds),
      updated_at: sql<Date>`now()`,
    })
    .whereRef("deployment.id", "=", "abandoned.id")
    .returning(CLAIMED_COLUMNS)
    .executeTakeFirst();
  return claimed && claim(claimed, owner);
}

const CLAIMED_COLUMNS = [
  ...DEPLOYMENT_COLUMNS,
  sql<ResourceKind>`(select kind from resource where resource.id = deployment.resource_id)`.as("kind"),
] as const;

const claim = (
  { kind, ...deployment }: DeploymentRecord & Pick<ClaimedDeployment, "kind">,
  owner: string,
): ClaimedDeployment => ({
  lease: { deployment_id: deployment.id, owner, attempt: deployment.attempt },
  deployment,
  kind,
});

type NamedChange = StepChange & { readonly name: Parameters<SystemDeploymentStore["saveStep"]>[1] };

/** Fields left out of a change keep their value. */
async function saveSteps(context: StoreContext, deploymentId: number, changes: readonly NamedChange[]): Promise<void> {
  await context.db
    .insertInto("deployment_step")
    .values(changes.map((change) => stepRow(context, deploymentId, change)))
    .onConflict((conflict) =>
      conflict.columns(["deployment_id", "name"]).doUpdateSet({
        status: sql`excluded.status`,
        started_at: sql`coalesce(deployment_step.started_at, excluded.started_at)`,
        // An undone step keeps the time at which it was done or failed. A running one has no end.
        finished_at: sql`case when excluded.finished_at is not null
          then coalesce(deployment_step.finished_at, excluded.finished_at) end`,
        output: sql`coalesce(excluded.output, deployment_step.output)`,
        error: sql`coalesce(excluded.error, deployment_step.error)`,
        error_code: sql`case when excluded.error is null then deployment_step.error_code else excluded.error_code end`,
      }),
    )
    .execute();
  notifyDeployment(context, deploymentId);
}

function stepRow(
  context: StoreContext,
  deploymentId: number,
  { name, status, output, error, error_code }: NamedChange,
) {
  const hasEnded = status !== "pending" && status !== "running";
  const sealed = sealStacks(context, output ?? null, stepPlace(deploymentId, name));
  return {
    deployment_id: deploymentId,
    name,
    status,
    started_at: status === "running" ? sql<Date>`now()` : null,
    finished_at: hasEnded ? sql<Date>`now()` : null,
    output: sealed === null ? null : storableJson(sealed),
    error: error === undefined ? null : storable(error),
    error_code: error_code ?? null,
  };
}
