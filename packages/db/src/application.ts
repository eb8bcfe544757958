import { notFound } from "@berth/core";
import { ApplicationSecrets, ApplicationSettings } from "@berth/core/application";
import type { SiteSettings } from "@berth/core/deploy";
import type { ApplicationRecord, ApplicationStore, GithubSource } from "@berth/core/ports";
import { type Kysely, sql } from "kysely";
import { claimContainerName } from "./container-name.ts";
import { inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import {
  insertResource,
  openSecrets,
  readKind,
  readSubject,
  readSubjects,
  sealSecrets,
  selectPlaced,
  updateResource,
} from "./kind-row.ts";
import { isAnyOf, lookup } from "./lookup.ts";
import { CERTIFICATE_PROBLEM } from "./resource-row.ts";
import type { RoutingKey } from "./routing.ts";
import type { DB } from "./schema.ts";

const APPLICATION_COLUMNS = [
  "application.source",
  "application.fqdn",
  "application.private_key_id",
  "application.restart_count",
  "application.last_restart_at",
  "application.last_online_at",
  "application.scale_problem",
] as const;

// A subquery, since with one more join PostgreSQL would stop trying every order of them, and miss the indexes of some
// lists.
const GITHUB_APP = sql<GithubSource | null>`(
  select jsonb_build_object('id', github_app.id, 'html_url', github_app.html_url,
    'repository_id', application.repository_project_id)
  from github_app where github_app.id = application.github_app_id)`;

const ADDITIONAL_SERVERS = sql<number>`(
  select greatest(count(*) - 1, 0)::integer from application_destination attached
  where attached.resource_id = resource.id)`;

// Settings added after a row was written read as their default. The build pack is always present.
const SETTING_DEFAULTS = ApplicationSettings.parse({ build_pack: "nixpacks" });
const SECRET_DEFAULTS = ApplicationSecrets.parse({});

type ApplicationRow = Omit<ApplicationRecord, "settings"> & { readonly settings: Partial<ApplicationSettings> };

/** Without their settings, which may be large. */
export const selectBareApplications = (db: Kysely<DB>) =>
  selectPlaced(db)
    .innerJoin("application", "application.resource_id", "resource.id")
    .select([
      ...APPLICATION_COLUMNS,
      GITHUB_APP.as("github_app"),
      ADDITIONAL_SERVERS.as("additional_servers_count"),
      CERTIFICATE_PROBLEM.as("certificate_problem"),
    ]);

const selectApplications = (db: Kysely<DB>) => selectBareApplications(db).select("application.settings");

const findByUuid = lookup(
  (db, uuids) => selectApplications(db).where(isAnyOf("resource.uuid", uuids)),
  ({ uuid }) => uuid,
);

/** All settings, from those that were stored. */
export const settingsOf = (stored: Partial<ApplicationSettings>): ApplicationSettings => ({
  ...SETTING_DEFAULTS,
  ...stored,
});

export const applicationRecord = (row: ApplicationRow): ApplicationRecord => ({
  ...row,
  settings: settingsOf(row.settings),
});

/** Only the settings of its sites, since a server may have thousands of applications that never ran. */
export function siteSettings(settings: Partial<ApplicationSettings>): SiteSettings {
  const all = settingsOf(settings);
  return {
    redirect: all.redirect,
    is_http_basic_auth_enabled: all.is_http_basic_auth_enabled,
    http_basic_auth_username: all.http_basic_auth_username,
    noindex_domains: all.noindex_domains,
    is_force_https_enabled: all.is_force_https_enabled,
    is_gzip_enabled: all.is_gzip_enabled,
    is_stripprefix_enabled: all.is_stripprefix_enabled,
    autoscaling_enabled: all.autoscaling_enabled,
    autoscaling_requests_per_second: all.autoscaling_requests_per_second,
  };
}

const ROWS = {
  kind: "application",
  thing: "Application",
  select: selectApplications,
  findByUuid,
  record: applicationRecord,
  secretDefaults: SECRET_DEFAULTS,
} as const;

/** The subject of a deployment, of any team. */
export const applicationSubject = (context: StoreContext, key: RoutingKey) => readSubject(context, ROWS, key);

/** The subjects of several, by id. */
export const applicationSubjects = (context: StoreContext, ids: readonly number[]) => readSubjects(context, ROWS, ids);

export function applicationStore(context: TeamContext): ApplicationStore {
  return {
    ...readKind(context, ROWS),
    insert: (application) => inTransaction(context, (tx) => insert(tx, application)),
    update: (id, change) =>
      inTransaction(context, async (tx) => {
        const { uuid } = (await updateResource(tx, "application", id, change)) ?? {};
        if (uuid === undefined) return undefined;
        const { private_key_id } = change;
        if (private_key_id !== undefined) {
          await holdKey(tx, private_key_id);
          await tx.db.updateTable("application").set({ private_key_id }).where("resource_id", "=", id).execute();
        }
        await setRepository(tx, id, change.github_repository_id);
        const application = await applicationStore(tx).find(uuid);
        if (application !== undefined && change.settings !== undefined) await claimContainerName(tx, application);
        return application;
      }),
  };
}

async function insert(
  context: TeamContext,
  application: Parameters<ApplicationStore["insert"]>[0],
): Promise<ApplicationRecord> {
  const { db } = context;
  const { uuid, source, settings, secrets, private_key_id = null, github_app } = application;
  await holdKey(context, private_key_id);
  await holdApp(context, github_app);
  const { id } = await insertResource(context, "application", application);
  await db
    .insertInto("application")
    .values({
      resource_id: id,
      source,
      private_key_id,
      github_app_id: github_app?.id ?? null,
      repository_project_id: github_app?.repository_id ?? null,
      settings: JSON.stringify(settings),
      secrets: sealSecrets(context, "application", uuid, secrets),
    })
    .execute();
  const made = applicationRecord(await selectApplications(db).where("resource.id", "=", id).executeTakeFirstOrThrow());
  await claimContainerName(context, made);
  return made;
}

/** Checks that the key belongs to the team, and locks it until the transaction ends. */
async function holdKey({ db, teamId }: TeamContext, id: number | null): Promise<void> {
  if (id === null) return;
  const held = await db
    .selectFrom("private_key")
    .select("id")
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .forKeyShare()
    .executeTakeFirst();
  if (held === undefined) throw notFound("Private Key");
}

/** Like `holdKey`, for a GitHub app. */
async function holdApp(
  { db, teamId }: TeamContext,
  app: Parameters<ApplicationStore["insert"]>[0]["github_app"],
): Promise<void> {
  if (app === undefined) return;
  const own = await db
    .selectFrom("github_app")
    .select("id")
    .where("id", "=", app.id)
    .where("team_id", "=", teamId)
    .forKeyShare()
    .executeTakeFirst();
  if (own === undefined) throw notFound("GitHub app");
}

async function setRepository({ db }: StoreContext, id: number, repositoryId: number | undefined): Promise<void> {
  if (repositoryId === undefined) return;
  await db
    .updateTable("application")
    .set({ repository_project_id: repositoryId })
    .where("resource_id", "=", id)
    .where("github_app_id", "is not", null)
    .execute();
}

export const openApplicationSecrets = (context: StoreContext, uuid: string, sealed: Uint8Array | null) =>
  openSecrets(context, "application", uuid, sealed, SECRET_DEFAULTS);
