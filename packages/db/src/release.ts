import type { LiveKey } from "@berth/core/deploy";
import type { Lease, ReleaseRecord, ReleaseStore, SystemReleaseStore } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import { inTransaction, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
import { withLease } from "./deployment-queue.ts";
import { isActive } from "./deployment-row.ts";
import { keptBuilds } from "./kept-build.ts";
import { openStacks, sealStacks } from "./sealed-stack.ts";

const COLUMNS = [
  "deployment_id",
  "deployment_uuid",
  "resource_id",
  "resource_uuid",
  "pull_request_id",
  "server_id",
  "role",
  "artifact",
  "built_by",
  "upstream",
  "replaced_by_deployment_id",
  "created_at",
  "updated_at",
] as const;

const MEASURED_COLUMNS = ["deployment_id", "deployment_uuid", "resource_id", "resource_uuid", "server_id"] as const;

const placeOf = (deploymentId: number): string => `release ${deploymentId} artifact`;

const opened = <Row extends Pick<ReleaseRecord, "artifact" | "deployment_id">>(
  context: StoreContext,
  row: Row,
): Row => ({
  ...row,
  artifact: openStacks(context, row.artifact, placeOf(row.deployment_id)),
});

const openedRow = async (context: StoreContext, row: Promise<ReleaseRecord | undefined>) => {
  const found = await row;
  return found && opened(context, found);
};

const openedRows = async (context: StoreContext, rows: Promise<readonly ReleaseRecord[]>) =>
  (await rows).map((row) => opened(context, row));

export function releaseStore(context: TeamContext): ReleaseStore {
  const { db, teamId } = context;
  return {
    live: (key) =>
      openedRow(
        context,
        selectLive({ db }, key)
          .where("resource_id", "in", db.selectFrom("resource").select("id").where("team_id", "=", teamId))
          .executeTakeFirst(),
      ),
    candidate: ({ resource_id, server_id, pull_request_id }) =>
      openedRow(
        context,
        db
          .selectFrom("release")
          .innerJoin("resource", "resource.id", "release.resource_id")
          .select(COLUMNS.map((column) => `release.${column}` as const))
          .where("release.resource_id", "=", resource_id)
          .where("release.server_id", "=", server_id)
          .where("resource.team_id", "=", teamId)
          .where("release.role", "=", "candidate")
          .where("release.pull_request_id", "=", pull_request_id)
          .orderBy("release.deployment_id", "desc")
          .limit(1)
          .executeTakeFirst(),
      ),
    builds: async (part) =>
      (await keptBuilds(context, part)).map((row) => {
        const { deployment_id: _, ...build } = opened(context, row);
        return build;
      }),
  };
}

const selectLive = ({ db }: Pick<StoreContext, "db">, { resource_id, server_id, pull_request_id }: LiveKey) =>
  db
    .selectFrom("release")
    .select(COLUMNS)
    .where("role", "=", sql.lit("live" as const))
    .where("resource_id", "=", resource_id)
    .where("server_id", "=", server_id)
    .where("pull_request_id", "=", pull_request_id);

const listWhere = (context: StoreContext, isMeant: RawBuilder<boolean>): Promise<readonly ReleaseRecord[]> =>
  openedRows(
    context,
    context.db.selectFrom("release").select(COLUMNS).where(isMeant).orderBy("deployment_id").execute(),
  );

export function systemReleaseStore(context: StoreContext): SystemReleaseStore {
  const { db } = context;
  return {
    async saveCandidate(lease, release) {
      const isSaved = await withLease(context, lease, (tx) => saveCandidate(tx, lease, release));
      return isSaved ?? false;
    },
    promote: (lease) => withLease(context, lease, (tx) => promote(tx, lease)),
    demote: async (lease) => (await withLease(context, lease, (tx) => demote(tx, lease))) ?? false,
    find: (deploymentId) =>
      openedRow(
        context,
        db.selectFrom("release").select(COLUMNS).where("deployment_id", "=", deploymentId).executeTakeFirst(),
      ),
    live: (key) => openedRow(context, selectLive(context, key).executeTakeFirst()),
    listByRole: (role, serverIds) =>
      openedRows(
        context,
        db
          .selectFrom("release")
          .select(COLUMNS)
          .where("role", "=", role)
          .$if(serverIds !== undefined, (query) => query.where(sql<boolean>`server_id = any(${serverIds}::bigint[])`))
          .orderBy("deployment_id")
          .execute(),
      ),
    listMeasured: (serverIds) =>
      db
        .selectFrom("release")
        .innerJoin("resource", "resource.id", "release.resource_id")
        .select(MEASURED_COLUMNS.map((column) => `release.${column}` as const))
        .where("release.role", "=", sql.lit("live" as const))
        .where("release.pull_request_id", "=", 0)
        .where(sql<boolean>`release.server_id = any(${serverIds}::bigint[])`)
        .whereRef("resource.server_id", "=", "release.server_id")
        .orderBy("release.deployment_id")
        .execute(),
    listByServer: (serverId) => listWhere(context, sql<boolean>`server_id = ${serverId}`),
    listByResources: (resourceIds) => listWhere(context, sql<boolean>`resource_id = any(${resourceIds}::bigint[])`),
    async serverOf(deploymentUuid) {
      const releases = db.selectFrom("release").innerJoin("deployment", "deployment.id", "release.deployment_id");
      const found = await releases
        .select("release.server_id")
        .where("deployment.uuid", "=", deploymentUuid)
        .executeTakeFirst();
      return found?.server_id;
    },
    supersede: (deploymentId) => inTransaction(context, (tx) => supersede(tx, deploymentId)),
    async setUpstream(deploymentId, upstream) {
      await db
        .updateTable("release")
        .set({ upstream: upstream && JSON.stringify(upstream), updated_at: sql<Date>`now()` })
        .where("deployment_id", "=", deploymentId)
        .execute();
    },
    async keep(deploymentId) {
      await db
        .updateTable("release")
        .set({ role: "kept", upstream: null, updated_at: sql<Date>`now()` })
        .where("deployment_id", "=", deploymentId)
        .where("role", "in", ["retiring", "kept"])
        .execute();
    },
    findBuild: ({ resource_id, server_id }, builtBy) =>
      openedRow(
        context,
        db
          .selectFrom("release")
          .select(COLUMNS)
          .where("resource_id", "=", resource_id)
          .where("server_id", "=", server_id)
          .where("built_by", "=", builtBy)
          .orderBy("deployment_id", "desc")
          .executeTakeFirst(),
      ),
    listSurplus: async ({ resource_id, server_id }, count) => {
      const kept = await db
        .selectFrom("release")
        .select(COLUMNS)
        .select(
          sql<boolean>`exists (select from deployment where deployment.resource_id = release.resource_id
            and deployment.server_id = release.server_id and deployment.rollback_to = release.built_by and deployment.status in ('queued', 'in_progress'))`.as(
            "is_wanted",
          ),
        )
        .where("resource_id", "=", resource_id)
        .where("server_id", "=", server_id)
        .where("role", "=", sql.lit("kept" as const))
        // A rollback runs a kept build, which then is not one of those beside what runs.
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("release as other")
                .select("other.deployment_id")
                .whereRef("other.resource_id", "=", "release.resource_id")
                .whereRef("other.server_id", "=", "release.server_id")
                .where("other.pull_request_id", "=", 0)
                .where("other.role", "=", sql.lit("live" as const))
                .whereRef("other.built_by", "=", "release.built_by"),
            ),
          ),
        )
        .orderBy("updated_at", "desc")
        .orderBy("deployment_id", "desc")
        .execute();
      return kept.slice(count).flatMap(({ is_wanted, ...release }) => (is_wanted ? [] : [opened(context, release)]));
    },
    async delete(deploymentId) {
      await db.deleteFrom("release").where("deployment_id", "=", deploymentId).execute();
    },
  };
}

type Candidate = Parameters<SystemReleaseStore["saveCandidate"]>[1];

async function saveCandidate(
  context: StoreContext,
  lease: Lease,
  { artifact, built_by, upstream }: Candidate,
): Promise<true> {
  const { db } = context;
  const made = {
    artifact: JSON.stringify(sealStacks(context, artifact, placeOf(lease.deployment_id))),
    built_by,
    upstream: upstream && JSON.stringify(upstream),
  };
  await db
    .insertInto("release")
    .columns([
      "deployment_id",
      "deployment_uuid",
      "resource_id",
      "resource_uuid",
      "pull_request_id",
      "server_id",
      "role",
      "artifact",
      "built_by",
      "upstream",
    ])
    .expression((eb) =>
      eb
        .selectFrom("deployment")
        .where("deployment.id", "=", lease.deployment_id)
        .select([
          "deployment.id",
          "deployment.uuid",
          "deployment.resource_id",
          "deployment.resource_uuid",
          "deployment.pull_request_id",
          "deployment.server_id",
          sql.lit("candidate" as const).as("role"),
          sql<string>`${made.artifact}::jsonb`.as("artifact"),
          sql<string>`${built_by}::text`.as("built_by"),
          sql<string | null>`${made.upstream}::jsonb`.as("upstream"),
        ]),
    )
    .onConflict((conflict) =>
      conflict
        .column("deployment_id")
        .doUpdateSet({ ...made, updated_at: sql<Date>`now()` })
        // The release may have become live already.
        .where("release.role", "=", "candidate"),
    )
    .execute();
  return true;
}

/** The order matters: the unique index allows only one live release on a server at any moment. */
async function promote(
  context: StoreContext,
  { deployment_id }: Lease,
): Promise<{ readonly previous: ReleaseRecord | undefined } | undefined> {
  const { db } = context;
  const own = await db
    .selectFrom("release")
    .select(COLUMNS)
    .where("deployment_id", "=", deployment_id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (own === undefined || own.role === "retiring") return undefined;
  if (own.role === "live") {
    const previous = await db
      .selectFrom("release")
      .select(COLUMNS)
      .where("replaced_by_deployment_id", "=", deployment_id)
      .where("server_id", "=", own.server_id)
      .executeTakeFirst();
    return { previous: previous && opened(context, previous) };
  }
  const now = sql<Date>`now()`;
  const previous = await db
    .updateTable("release")
    .set({ role: "retiring", replaced_by_deployment_id: deployment_id, updated_at: now })
    .where("role", "=", sql.lit("live" as const))
    .where("resource_id", "=", own.resource_id)
    .where("server_id", "=", own.server_id)
    .where("pull_request_id", "=", own.pull_request_id)
    .returning(COLUMNS)
    .executeTakeFirst();
  await db
    .updateTable("release")
    .set({ role: "live", updated_at: now })
    .where("deployment_id", "=", deployment_id)
    .execute();
  await db
    .updateTable("application_destination")
    .set({ is_given_up: false })
    .where("resource_id", "=", own.resource_id)
    .where("server_id", "=", own.server_id)
    .where("is_given_up", "=", true)
    .execute();
  // Only databases record when they were started.
  await db.updateTable("database").set({ started_at: now }).where("resource_id", "=", own.resource_id).execute();
  return { previous: previous && opened(context, previous) };
}

/** The order matters as in `promote`. What was replaced waits for the end of the deployment, so it is still there. */
async function demote({ db }: StoreContext, { deployment_id }: Lease): Promise<true> {
  const now = sql<Date>`now()`;
  const own = await db
    .updateTable("release")
    .set({ role: "candidate", updated_at: now })
    .where("deployment_id", "=", deployment_id)
    .where("role", "=", sql.lit("live" as const))
    .returning("server_id")
    .executeTakeFirst();
  if (own === undefined) return true;
  await db
    .updateTable("release")
    .set({ role: "live", replaced_by_deployment_id: null, updated_at: now })
    .where("replaced_by_deployment_id", "=", deployment_id)
    .where("server_id", "=", own.server_id)
    .where("role", "=", sql.lit("retiring" as const))
    .execute();
  return true;
}

async function supersede(context: StoreContext, deploymentId: number): Promise<void> {
  const { db } = context;
  // Locked, so that the resource does not come back to this server meanwhile.
  const own = await db
    .selectFrom("release")
    .innerJoin("resource", "resource.id", "release.resource_id")
    .select(["resource.server_id", "release.resource_id", "release.pull_request_id"])
    .where("release.deployment_id", "=", deploymentId)
    .whereRef("resource.server_id", "!=", "release.server_id")
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("application_destination as attached")
            .select("attached.server_id")
            .whereRef("attached.resource_id", "=", "release.resource_id")
            .whereRef("attached.server_id", "=", "release.server_id"),
        ),
      ),
    )
    .forShare("resource")
    .executeTakeFirst();
  const successor = own && (await selectLive(context, own).executeTakeFirst());
  if (successor === undefined) return;
  // Until it has ended, its deployment may still take its release back.
  const { numUpdatedRows } = await db
    .updateTable("release")
    .set({ role: "retiring", replaced_by_deployment_id: successor.deployment_id, updated_at: sql<Date>`now()` })
    .where("deployment_id", "=", deploymentId)
    .where("role", "in", ["live", "kept"])
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("deployment").select("id").where("id", "=", successor.deployment_id).where(isActive))),
    )
    .executeTakeFirst();
  if (numUpdatedRows > 0n) wakeWorkers(context, "resource");
}
