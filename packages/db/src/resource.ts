import type { DatabaseEngine } from "@berth/core/database";
import {
  type DeploySubject,
  type RemovalFlags,
  removalFlags,
  STOPPED_SERVICE_STATUS,
  STOPPED_STATUS,
} from "@berth/core/deploy";
import type {
  InspectedRelease,
  NamedResource,
  ResourceRecord,
  ResourceStore,
  ResourceSummaryRecord,
  Routing,
  SystemResourceStore,
} from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import { type RawBuilder, sql } from "kysely";
import { applicationSubject, applicationSubjects, settingsOf, siteSettings } from "./application.ts";
import { destinationsOf, observedOnServer } from "./application-destination.ts";
import { idsOf, inTransaction, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
import { databaseSubject, databaseSubjects } from "./database.ts";
import { freeDomains } from "./domain.ts";
import { endJobs, isAbout, isActiveJob } from "./job-row.ts";
import { joinPlace } from "./kind-row.ts";
import { ofOwner, page, within } from "./page.ts";
import { resourceChanges } from "./resource-change.ts";
import { resourcePlaces } from "./resource-place.ts";
import { CERTIFICATE_PROBLEM, emitResourceEvent, keptTotal, RESOURCE_COLUMNS } from "./resource-row.ts";
import { domainsOf, type RoutingKey } from "./routing.ts";
import { serviceSubject, serviceSubjects } from "./service.ts";

export function resourceStore(context: TeamContext): ResourceStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("resource").where("resource.team_id", "=", teamId);
  const named = () => own().select(["resource.kind", "resource.name"]).where("removing_at", "is", null);
  const listStaying = (owner: "resource.server_id" | "resource.environment_id", is: number, take: number) =>
    ofOwner(named(), { owner, is, id: "resource.id" }).limit(take).execute();
  return {
    find: ({ kind, uuid }) =>
      own().select(RESOURCE_COLUMNS).where("uuid", "=", uuid).where("kind", "=", kind).executeTakeFirst(),
    findForUpdate: ({ kind, uuid }) =>
      own()
        .select(RESOURCE_COLUMNS)
        .where("uuid", "=", uuid)
        .where("kind", "=", kind)
        .forNoKeyUpdate()
        .executeTakeFirst(),
    list(filter, paging = {}) {
      const { kind, environment_id: environmentId, server_id: serverId } = filter;
      return page(
        paging,
        (window) => {
          let query = own().select([...RESOURCE_COLUMNS, DATABASE_ENGINE.as("database_engine")]);
          if (kind !== undefined) query = query.where("kind", "=", kind);
          // Without an environment, the server is the owner in `ofOwner`, which has the same condition.
          if (environmentId !== undefined && serverId !== undefined) query = query.where("server_id", "=", serverId);
          return within(ofOwner(query, { ...ownerOf(filter, teamId), id: "resource.id" }), window).execute();
        },
        () => keptTotal(context, filter),
      );
    },
    listIds: (paging = {}) =>
      page(
        paging,
        (window) => {
          const query = own().select(["resource.id", "resource.kind"]);
          return within(ofOwner(query, { owner: "resource.team_id", is: teamId, id: "resource.id" }), window).execute();
        },
        () => keptTotal(context, {}),
      ),
    summaries: (ids) =>
      joinPlace(db)
        .leftJoin("database", "database.resource_id", "resource.id")
        .leftJoin("application", "application.resource_id", "resource.id")
        .select([
          "resource.id",
          "resource.uuid",
          "resource.kind",
          "resource.server_id",
          "resource.name",
          "resource.status",
          "resource.status_problem",
          "resource.removing_at",
          "resource.created_at",
          "resource.updated_at",
          SUMMARY_PLACEMENT.as("placement"),
          "database.engine as database_engine",
          "database.certificate_expires_at",
          "application.scale_problem",
          CERTIFICATE_PROBLEM.as("certificate_problem"),
          sql<string | null>`case when database.is_public then database.public_port_problem end`.as(
            "public_port_problem",
          ),
          URLS.as("urls"),
        ])
        .where("resource.team_id", "=", teamId)
        .where("resource.id", "in", idsOf(ids))
        .execute(),
    ...resourcePlaces(context),
    setDesiredState: (id, state, reason = null) =>
      inTransaction(context, async (tx) => {
        await tx.db
          .updateTable("resource")
          .set({ desired_state: state, stop_reason: reason, updated_at: sql<Date>`now()` })
          .where("id", "=", id)
          .where("team_id", "=", teamId)
          .execute();
        await tx.db
          .updateTable("application_destination")
          .set({ is_given_up: false })
          .where("resource_id", "=", id)
          .where("is_given_up", "=", true)
          .where(sql<boolean>`exists (select from resource where id = ${id} and team_id = ${teamId})`)
          .execute();
        wakeWorkers(tx, "resource");
      }),
    markRemoving: async (id, flags) =>
      (await markRemoving(context, sql<boolean>`resource.id = ${id}`, flags)).length > 0,
    markRemovingOn: (serverId, flags) => markRemoving(context, sql<boolean>`resource.server_id = ${serverId}`, flags),
    async ownAmong(uuids) {
      const isMeant = sql<boolean>`resource.uuid = any(${[...uuids]}::text[])`;
      const found = await own().select(["resource.uuid", "resource.kind", "resource.name"]).where(isMeant).execute();
      return new Map(found.map(({ uuid, ...named }) => [uuid, named]));
    },
    async listStaying(serverId, take) {
      const placed = await listStaying("resource.server_id", serverId, take);
      if (placed.length >= take) return placed;
      const attached = await named()
        .innerJoin("application_destination as attached", "attached.resource_id", "resource.id")
        .where("attached.server_id", "=", serverId)
        .limit(take - placed.length)
        .execute();
      return [...placed, ...attached];
    },
    async listStayingIn(environmentIds, take) {
      const found: NamedResource[] = [];
      for (const id of environmentIds) {
        if (found.length >= take) break;
        found.push(...(await listStaying("resource.environment_id", id, take - found.length)));
      }
      return found;
    },
  };
}

function markRemoving(
  context: TeamContext,
  isMeant: RawBuilder<boolean>,
  flags: Partial<RemovalFlags>,
): Promise<readonly ResourceRecord[]> {
  return inTransaction(context, async (tx) => {
    // Stronger than an update's lock, so that it waits for transactions that insert children of the resource.
    const locked = await tx.db
      .selectFrom("resource")
      .select("resource.id")
      .where(isMeant)
      .where("team_id", "=", tx.teamId)
      .where("removing_at", "is", null)
      .orderBy("resource.id")
      .forUpdate()
      .execute();
    if (locked.length === 0) return [];
    const marked = await tx.db
      .updateTable("resource")
      .set({ removing_at: sql<Date>`now()`, ...removalFlags(flags) })
      .where("id", "in", idsOf(locked.map(({ id }) => id)))
      .returning(RESOURCE_COLUMNS)
      .execute();
    // Frees its URLs, private key and GitHub app now: a removal may take as long as the application needs to stop, and
    // neither routes requests nor fetches a source.
    const ids = marked.map(({ id }) => id);
    await freeDomains(tx, ids);
    await tx.db
      .updateTable("application")
      .set({ private_key_id: null, github_app_id: null })
      .where("resource_id", "in", idsOf(ids))
      .where(({ or, eb }) => or([eb("private_key_id", "is not", null), eb("github_app_id", "is not", null)]))
      .execute();
    for (const resource of marked) emitResourceEvent(tx, resource, "resource.removing");
    wakeWorkers(tx, "resource", "removal");
    return marked.sort((a, b) => a.id - b.id);
  });
}

const SUMMARY_PLACEMENT = sql<ResourceSummaryRecord["placement"]>`jsonb_build_object(
  'project_uuid', project.uuid, 'environment_uuid', environment.uuid, 'environment_name', environment.name,
  'server_uuid', server.uuid)`;

const URLS = sql<
  readonly string[]
>`coalesce((select jsonb_agg(domain.url order by domain.position, domain.id) from domain
  where domain.resource_id = resource.id and domain.pull_request_id = 0), '[]')`;

/** Subqueries run only for returned rows, not for those that a page skips. */
const DATABASE_ENGINE = sql<DatabaseEngine | null>`(select engine from database where resource_id = resource.id)`;

/** The narrowest of the filters, whose index is used. */
function ownerOf({ environment_id, server_id }: Parameters<ResourceStore["list"]>[0], teamId: number) {
  if (environment_id !== undefined) return { owner: "resource.environment_id", is: environment_id } as const;
  if (server_id !== undefined) return { owner: "resource.server_id", is: server_id } as const;
  return { owner: "resource.team_id", is: teamId } as const;
}

export function systemResourceStore(context: StoreContext): SystemResourceStore {
  const { db } = context;
  const all = () => db.selectFrom("resource").select(RESOURCE_COLUMNS);
  const routed = () => all().select(domainsOf(0).as("domains"));
  const readRouting = async (key: RoutingKey, known: ResourceKind | undefined): Promise<Routing | undefined> => {
    const found = known && (await readSubject[known](context, key));
    if (found !== undefined) return found;
    const id = key.resource_id;
    const resource = await db.selectFrom("resource").select("kind").where("id", "=", id).executeTakeFirst();
    return resource && (await readSubject[resource.kind](context, key));
  };
  return {
    find: (id) => all().where("id", "=", id).executeTakeFirst(),
    subjects: async (kind, ids) => (ids.length === 0 ? new Map() : await readSubjects[kind](context, ids)),
    subject: async (id, kind) => (await readRouting({ resource_id: id, pull_request_id: 0 }, kind))?.subject,
    routing: readRouting,
    ...observedOnServer(context),
    async everRecorded(uuids) {
      const wanted = sql`unnest(${[...uuids]}::text[]) as wanted (uuid)`;
      const { rows } = await sql<{ uuid: string }>`
        select wanted.uuid from ${wanted} where exists (select from resource where resource.uuid = wanted.uuid)
          or exists (select from removed_resource where removed_resource.uuid = wanted.uuid)`.execute(db);
      return new Set(rows.map(({ uuid }) => uuid));
    },
    async existing(uuids) {
      const isMeant = sql<boolean>`resource.uuid = any(${[...uuids]}::text[])`;
      const found = await db.selectFrom("resource").select("resource.uuid").where(isMeant).execute();
      return new Set(found.map(({ uuid }) => uuid));
    },
    async pruneRemoved(keptDays) {
      const { numDeletedRows } = await db
        .deleteFrom("removed_resource")
        .where("removed_at", "<", sql<Date>`now() - ${keptDays}::int * interval '1 day'`)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
    listRemoving: () => all().where("removing_at", "is not", null).orderBy("id").execute(),
    async hasRun(id) {
      // A range, to use the order of the indexes: otherwise both tables are read completely to find one row.
      const isOf = sql`resource_id between ${id}::bigint and ${id}::bigint`;
      const { rows } = await sql`
        (select deployment_id as id from release where ${isOf} order by resource_id limit 1)
        union all
        (select id from deployment where ${isOf} and attempt > 0 order by resource_id, id limit 1)`.execute(db);
      return rows.length > 0;
    },
    listByServer: (serverId) => routed().where(sql<boolean>`server_id = ${serverId}`).orderBy("id").execute(),
    ...resourceChanges(context),
    async inspect(ids) {
      const rows = await routed()
        .leftJoin("application", "application.resource_id", "resource.id")
        .select([
          IS_RESTING.as("is_resting"),
          HAS_PREVIEWS.as("has_previews"),
          RELEASES.as("releases"),
          destinationsOf.as("destinations"),
          "application.settings",
        ])
        .where(sql<boolean>`resource.id = any(${ids}::bigint[])`)
        .orderBy("resource.id")
        .execute();
      return rows.map(({ settings, ...row }) => ({ ...row, site_settings: settings && siteSettings(settings) }));
    },
    async autoscaled(ids) {
      if (ids.length === 0) return [];
      const rows = await db
        .selectFrom("resource")
        .innerJoin("application", "application.resource_id", "resource.id")
        .select(["resource.id", "resource.team_id", "resource.uuid", "resource.name", "application.settings"])
        .where(sql<boolean>`resource.id = any(${ids}::bigint[])`)
        .where("resource.desired_state", "=", "running")
        .where("resource.removing_at", "is", null)
        .where(sql<boolean>`application.settings @> '{"autoscaling_enabled": true}'`)
        .execute();
      return rows.map((row) => ({ ...row, settings: settingsOf(row.settings) }));
    },
    delete: (id) =>
      inTransaction(context, async (tx) => {
        // All its deployments and their logs are deleted too, which may be very many.
        await sql`set local statement_timeout = ${sql.lit(`${DELETE_MINUTES_MAX}min`)}`.execute(tx.db);
        // Jobs of its previews end too, since the previews are deleted with it.
        const ofPreviews = sql<boolean>`job.type = 'preview.delete' and ${isActiveJob}
          and job.subject_id in (select id from application_preview where resource_id = ${id})`;
        await endJobs(tx, ofPreviews, "finished", null);
        const deleted = await tx.db
          .deleteFrom("resource")
          .where("id", "=", id)
          .returning(["team_id", "uuid", "kind", "name"])
          .executeTakeFirst();
        if (deleted === undefined) return;
        emitResourceEvent(tx, deleted, "resource.deleted");
        await endJobs(tx, isAbout({ type: "resource.delete", subject_id: id }), "finished", null);
        wakeWorkers(tx, "removal"); // its server may be waiting for its last resource
      }),
  };
}

/** Without artifacts, since a compose file may be long. */
const RELEASES = sql<readonly InspectedRelease[]>`coalesce((
  select jsonb_agg(jsonb_build_object('deployment_id', deployment_id, 'deployment_uuid', deployment_uuid,
    'server_id', server_id, 'pull_request_id', pull_request_id, 'role', role, 'built_by', built_by, 'upstream', upstream,
    'replaced_by_deployment_id', replaced_by_deployment_id) order by deployment_id)
  from release where release.resource_id = resource.id), '[]')`;

const HAS_PREVIEWS = sql<boolean>`
  exists (select from application_preview where application_preview.resource_id = resource.id)`;

const IS_RESTING = sql<boolean>`(
  resource.desired_state = 'stopped' and resource.removing_at is null
  and resource.status = case resource.kind when 'service' then ${sql.lit(STOPPED_SERVICE_STATUS)}
    else ${sql.lit(STOPPED_STATUS)} end
  and coalesce(application.restart_count,
    (select restart_count from database where database.resource_id = resource.id), 0) = 0
  and not exists (select from release where release.resource_id = resource.id)
  and not exists (select from application_preview where application_preview.resource_id = resource.id)
  and not exists (select from service_container where service_container.resource_id = resource.id
    and service_container.status <> ${sql.lit(STOPPED_SERVICE_STATUS)}))`;

/** A reader for each kind's subject. The row may have been deleted since its kind was read. */
const readSubject: {
  readonly [Kind in ResourceKind]: (context: StoreContext, key: RoutingKey) => Promise<Routing | undefined>;
} = { application: applicationSubject, database: databaseSubject, service: serviceSubject };

const readSubjects: {
  readonly [Kind in ResourceKind]: (
    context: StoreContext,
    ids: readonly number[],
  ) => Promise<ReadonlyMap<number, DeploySubject>>;
} = { application: applicationSubjects, database: databaseSubjects, service: serviceSubjects };

const DELETE_MINUTES_MAX = 10;
