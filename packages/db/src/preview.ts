import { notFound } from "@berth/core";
import type { DomainClaim, PreviewFields, PreviewRecord, PreviewStore, SystemPreviewStore } from "@berth/core/ports";
import { type Kysely, sql } from "kysely";
import { emit, inTransaction, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
import { endJobs, isAbout } from "./job-row.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import type { DB } from "./schema.ts";

const COLUMNS = [
  "application_preview.id",
  "application_preview.uuid",
  "application_preview.resource_id",
  "application_preview.pull_request_id",
  "application_preview.pull_request_html_url",
  "application_preview.fqdn",
  "application_preview.status",
  "application_preview.git_type",
  "application_preview.docker_registry_image_tag",
  "application_preview.last_online_at",
  "application_preview.removing_at",
  "application_preview.is_reopened",
  "application_preview.created_at",
  "application_preview.updated_at",
] as const;

const NOW = sql<Date>`now()`;

export function previewStore(context: TeamContext): PreviewStore {
  const { db, teamId } = context;
  const ofApplication = (id: number) =>
    db
      .selectFrom("application_preview")
      .where("application_preview.resource_id", "in", own(context, id).select("resource.id"));
  return {
    list: (applicationId, paging = {}) =>
      page(
        paging,
        (window) => {
          const query = ofOwner(ofApplication(applicationId).select(COLUMNS), {
            owner: "application_preview.resource_id",
            is: applicationId,
            id: "application_preview.id",
          });
          return within(query, window).execute();
        },
        () => countRows(ofApplication(applicationId)),
      ),
    find: (applicationId, pullRequestId) =>
      ofApplication(applicationId)
        .select(COLUMNS)
        .where("application_preview.pull_request_id", "=", pullRequestId)
        .executeTakeFirst(),
    open: (applicationId, uuid, fields) =>
      inTransaction(context, async (tx) => {
        const application = await own(tx, applicationId).select(["uuid", "name"]).executeTakeFirst();
        if (application === undefined) throw notFound("Application");
        const preview = await upsert(tx, applicationId, uuid, fields);
        if (preview.uuid === uuid) emitPreviewEvent(tx, { ...application, teamId }, preview, "preview.created");
        return preview;
      }),
    markRemoving: (applicationId, pullRequestId) =>
      inTransaction(context, async (tx) => {
        const application = await own(tx, applicationId).select(["uuid", "name"]).executeTakeFirst();
        if (application === undefined) return undefined;
        const preview = await tx.db
          .updateTable("application_preview")
          .set({ removing_at: sql<Date>`coalesce(removing_at, now())`, is_reopened: false })
          .where("resource_id", "=", applicationId)
          .where("pull_request_id", "=", pullRequestId)
          .where(({ or, eb }) => or([eb("removing_at", "is", null), eb("is_reopened", "=", true)]))
          .returning(COLUMNS)
          .executeTakeFirst();
        if (preview === undefined) return undefined;
        emitPreviewEvent(tx, { ...application, teamId }, preview, "preview.removing");
        wakeWorkers(tx, "resource");
        return preview;
      }),
  };
}

const own = ({ db, teamId }: TeamContext, applicationId: number) =>
  db
    .selectFrom("resource")
    .where("resource.id", "=", applicationId)
    .where("resource.team_id", "=", teamId)
    .where("resource.kind", "=", "application");

/** Locks the row until the transaction ends: a removal waits for the deployment that is requested in it. */
function upsert(
  { db }: TeamContext,
  resource_id: number,
  uuid: string,
  { pull_request_id, ...given }: PreviewFields,
): Promise<PreviewRecord> {
  return db
    .insertInto("application_preview")
    .values({ ...given, uuid, resource_id, pull_request_id })
    .onConflict((conflict) =>
      conflict.columns(["resource_id", "pull_request_id"]).doUpdateSet({
        ...given,
        updated_at: NOW,
        is_reopened: sql<boolean>`application_preview.removing_at is not null`,
      }),
    )
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

export function systemPreviewStore(context: StoreContext): SystemPreviewStore {
  const { db } = context;
  return {
    find: (applicationId, pullRequestId) =>
      selectRouted(db)
        .where("application_preview.resource_id", "=", applicationId)
        .where("application_preview.pull_request_id", "=", pullRequestId)
        .executeTakeFirst(),
    listByResources: (resourceIds) =>
      selectRouted(db)
        .where(sql<boolean>`application_preview.resource_id = any(${resourceIds}::bigint[])`)
        .orderBy("application_preview.id")
        .execute(),
    listByApplication: (applicationId) =>
      selectRouted(db)
        .where("application_preview.resource_id", "=", applicationId)
        .orderBy("application_preview.id")
        .execute(),
    setStatus: (id, status) => setStatus(context, id, status),
    delete: (id) =>
      inTransaction(context, async (tx) => {
        if (await renew(tx, id)) return;
        const preview = await tx.db
          .deleteFrom("application_preview")
          .where("id", "=", id)
          .returning(COLUMNS)
          .executeTakeFirst();
        if (preview === undefined) return;
        const { resource_id, pull_request_id } = preview;
        await tx.db
          .deleteFrom("domain")
          .where("resource_id", "=", resource_id)
          .where("pull_request_id", "=", pull_request_id)
          .execute();
        emitPreviewEvent(tx, await applicationOf(tx, preview), preview, "preview.deleted");
        await endJobs(tx, isAbout({ type: "preview.delete", subject_id: id }), "finished", null);
      }),
  };
}

/** @returns Whether it was opened while it was being removed: it keeps its URL, and nothing else. */
async function renew(tx: StoreContext, id: number): Promise<boolean> {
  const preview = await tx.db
    .updateTable("application_preview")
    .set({ removing_at: null, is_reopened: false, status: sql<string>`default`, last_online_at: null, updated_at: NOW })
    .where("id", "=", id)
    .where("is_reopened", "=", true)
    .returning(COLUMNS)
    .executeTakeFirst();
  if (preview === undefined) return false;
  const application = await applicationOf(tx, preview);
  emitPreviewEvent(tx, application, preview, "preview.deleted");
  emitPreviewEvent(tx, application, preview, "preview.created");
  await endJobs(tx, isAbout({ type: "preview.delete", subject_id: id }), "finished", null);
  // What waits for it in the queue may begin.
  wakeWorkers(tx, "deployment");
  return true;
}

const selectRouted = (db: Kysely<DB>) =>
  db.selectFrom("application_preview").select([
    ...COLUMNS,
    sql<readonly DomainClaim[]>`coalesce((
      select jsonb_agg(jsonb_strip_nulls(
        jsonb_build_object('host', host, 'path', path, 'url', url, 'container', container)) order by position)
      from domain where domain.resource_id = application_preview.resource_id
        and domain.pull_request_id = application_preview.pull_request_id), '[]')`.as("domains"),
  ]);

/** Observed every few seconds, so it is written and reported only when it changed. */
function setStatus(context: StoreContext, id: number, status: string): Promise<void> {
  return inTransaction(context, async (tx) => {
    const before = await tx.db
      .selectFrom("application_preview")
      .select(COLUMNS)
      .where("id", "=", id)
      .where("status", "!=", status)
      .forNoKeyUpdate()
      .executeTakeFirst();
    if (before === undefined) return;
    const isOrWasOnline = [before.status, status].some((state) => state.startsWith("running"));
    await tx.db
      .updateTable("application_preview")
      .set({ status, updated_at: NOW, ...(isOrWasOnline ? { last_online_at: NOW } : {}) })
      .where("id", "=", id)
      .execute();
    const change = { status, previous_status: before.status };
    emitPreviewEvent(tx, await applicationOf(tx, before), before, "preview.status_changed", change);
  });
}

interface Application {
  readonly uuid: string;
  readonly name: string;
  readonly teamId: number;
}

const applicationOf = ({ db }: StoreContext, { resource_id }: PreviewRecord): Promise<Application> =>
  db
    .selectFrom("resource")
    .select(["uuid", "name", "team_id as teamId"])
    .where("id", "=", resource_id)
    .executeTakeFirstOrThrow();

function emitPreviewEvent(
  context: StoreContext,
  { uuid, name, teamId }: Application,
  { pull_request_id, fqdn }: PreviewRecord,
  type: "preview.created" | "preview.removing" | "preview.deleted" | "preview.status_changed",
  payload: Readonly<Record<string, unknown>> = {},
): void {
  emit(context, {
    team_id: teamId,
    type,
    resource_uuid: uuid,
    payload: { resource_kind: "application", resource_name: name, pull_request_id, fqdn, ...payload },
  });
}
