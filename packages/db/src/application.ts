import {
  type ApplicationRecord,
  ApplicationSecrets,
  ApplicationSettings,
  type ApplicationStore,
  notFound,
  type Placement,
} from "@berth/core";
import { type ExpressionBuilder, type Kysely, sql } from "kysely";
import { type Context, idsOf, inTransaction, type TeamContext } from "./context.ts";
import { ofOwner, page, within } from "./page.ts";
import { prepared } from "./prepared.ts";
import { keptTotal, RESOURCE_COLUMNS, tellOfResource } from "./resource-row.ts";
import type { DB } from "./schema.ts";

const APPLICATION_COLUMNS = [
  "application.source",
  "application.fqdn",
  "application.settings",
  "application.restart_count",
  "application.last_restart_at",
  "application.last_online_at",
] as const;

// What was stored before a setting existed lacks it and reads as its default; the build pack is always there.
const SETTING_DEFAULTS = ApplicationSettings.parse({ build_pack: "nixpacks" });
const SECRET_DEFAULTS = ApplicationSecrets.parse({});

type ApplicationRow = Omit<ApplicationRecord, "settings"> & { readonly settings: Partial<ApplicationSettings> };

/** One value, since decoding a column costs more than a key of it. */
const PLACEMENT = sql<Placement>`jsonb_build_object(
  'project_uuid', project.uuid, 'environment_uuid', environment.uuid, 'environment_name', environment.name,
  'server_uuid', server.uuid, 'server_name', server.name, 'server_ip', server.ip,
  'is_server_functional', coalesce((server.settings ->> 'is_reachable')::boolean, false)
    and coalesce((server.settings ->> 'is_usable')::boolean, false)
    and not coalesce((server.settings ->> 'force_disabled')::boolean, false),
  'destination_uuid', destination.uuid, 'destination_name', destination.name,
  'destination_network', destination.network)`;

export const selectApplications = (db: Kysely<DB>) =>
  db
    .selectFrom("resource")
    .innerJoin("application", "application.resource_id", "resource.id")
    .innerJoin("environment", "environment.id", "resource.environment_id")
    .innerJoin("project", "project.id", "environment.project_id")
    .innerJoin("server", "server.id", "resource.server_id")
    .innerJoin("destination", "destination.id", "resource.destination_id")
    .select([...RESOURCE_COLUMNS, ...APPLICATION_COLUMNS, PLACEMENT.as("placement")]);

/** What every request about one application asks. */
const findByUuid = prepared((db, teamId: number, uuid: string) =>
  selectApplications(db).where("resource.team_id", "=", teamId).where("resource.uuid", "=", uuid),
);

export const applicationRecord = (row: ApplicationRow): ApplicationRecord => ({
  ...row,
  settings: { ...SETTING_DEFAULTS, ...row.settings },
});

export function applicationStore(context: TeamContext): ApplicationStore {
  const { db, teamId } = context;
  return {
    list(filter, paging = {}) {
      const { environment_id: environmentId, tag } = filter;
      const isMatching = (eb: ExpressionBuilder<DB, "resource">) =>
        eb.and([
          eb("resource.team_id", "=", teamId),
          eb("resource.kind", "=", "application"),
          ...(environmentId === undefined ? [] : [eb("resource.environment_id", "=", environmentId)]),
          ...(tag === undefined ? [] : [eb("resource.id", "in", tagged(context, tag))]),
        ]);
      return page(
        paging,
        async (window) => {
          const query = ofOwner(selectApplications(db).where(isMatching), {
            ...(environmentId === undefined
              ? { owner: "resource.team_id", is: teamId }
              : { owner: "resource.environment_id", is: environmentId }),
            id: "resource.id",
          });
          return (await within(query, window).execute()).map(applicationRecord);
        },
        async () => {
          if (tag === undefined) {
            return await keptTotal(context, {
              kind: "application",
              ...(environmentId === undefined ? {} : { environment_id: environmentId }),
            });
          }
          const { total } = await db
            .selectFrom("resource")
            .where(isMatching)
            .select(({ fn }) => fn.countAll<number>().as("total"))
            .executeTakeFirstOrThrow();
          return total;
        },
      );
    },
    async find(uuid) {
      const row = await findByUuid(db, teamId, uuid);
      return row && applicationRecord(row);
    },
    insert: (application) => inTransaction(context, (inside) => insert(inside, application)),
    update: (id, change) =>
      inTransaction(context, async (inside) => {
        const { uuid } = (await update(inside, id, change)) ?? {};
        return uuid === undefined ? undefined : await applicationStore(inside).find(uuid);
      }),
    async secrets(id) {
      const secrets = (await secretsOf(context, [id])).get(id);
      if (secrets === undefined) throw notFound("Application");
      return secrets;
    },
    secretsOf: (ids) => secretsOf(context, ids),
  };
}

async function secretsOf(
  context: TeamContext,
  ids: readonly number[],
): Promise<ReadonlyMap<number, ApplicationSecrets>> {
  const rows = await context.db
    .selectFrom("application")
    .innerJoin("resource", "resource.id", "application.resource_id")
    .select(["resource.id", "resource.uuid", "application.secrets"])
    .where("resource.id", "in", idsOf(ids))
    .where("resource.team_id", "=", context.teamId)
    .execute();
  return new Map(rows.map(({ id, uuid, secrets }) => [id, openSecrets(context, uuid, secrets)]));
}

const tagged = ({ db, teamId }: TeamContext, tag: string) =>
  db
    .selectFrom("resource_tag")
    .innerJoin("tag", "tag.id", "resource_tag.tag_id")
    .select("resource_tag.resource_id")
    .where("tag.team_id", "=", teamId)
    .where("tag.name", "=", tag);

async function insert(
  context: TeamContext,
  application: Parameters<ApplicationStore["insert"]>[0],
): Promise<ApplicationRecord> {
  const { db, teamId } = context;
  const { uuid, name, description, source, settings, secrets } = application;
  // Taken from the places themselves, so that another team's, or a destination of another server, is none.
  const resource = await db
    .insertInto("resource")
    .columns(["uuid", "kind", "team_id", "environment_id", "server_id", "destination_id", "name", "description"])
    .expression((eb) =>
      eb
        .selectFrom("environment")
        .innerJoin("project", "project.id", "environment.project_id")
        .innerJoin("server", "server.team_id", "project.team_id")
        .innerJoin("destination", "destination.server_id", "server.id")
        .where("project.team_id", "=", teamId)
        .where("environment.id", "=", application.environment_id)
        .where("server.id", "=", application.server_id)
        .where("destination.id", "=", application.destination_id)
        .select([
          sql<string>`${uuid}::text`.as("uuid"),
          sql.lit("application" as const).as("kind"),
          "project.team_id",
          "environment.id as environment_id",
          "server.id as server_id",
          "destination.id as destination_id",
          sql<string>`${name}::text`.as("name"),
          sql<string | null>`${description}::text`.as("description"),
        ]),
    )
    .returning(RESOURCE_COLUMNS)
    .executeTakeFirst();
  if (resource === undefined) throw notFound("Environment, server or destination");
  await db
    .insertInto("application")
    .values({
      resource_id: resource.id,
      source,
      settings: JSON.stringify(settings),
      secrets: sealSecrets(context, uuid, secrets),
    })
    .execute();
  tellOfResource(context, resource, "resource.created");
  return applicationRecord(
    await selectApplications(db).where("resource.id", "=", resource.id).executeTakeFirstOrThrow(),
  );
}

async function update(
  context: TeamContext,
  id: number,
  { name, description, settings, secrets }: Parameters<ApplicationStore["update"]>[1],
): Promise<{ readonly uuid: string } | undefined> {
  const { db, teamId } = context;
  const resource = await db
    .updateTable("resource")
    .set({
      updated_at: sql<Date>`now()`,
      ...(name === undefined ? {} : { name }),
      ...(description === undefined ? {} : { description }),
    })
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .where("kind", "=", "application")
    .returning("uuid")
    .executeTakeFirst();
  if (resource === undefined) return undefined;
  if (settings !== undefined) {
    await db
      .updateTable("application")
      .set({ settings: sql<string>`settings || ${JSON.stringify(settings)}::jsonb` })
      .where("resource_id", "=", id)
      .execute();
  }
  if (secrets !== undefined) {
    // The resource's row is locked by the update above, so nobody changes the other secrets in between.
    const { secrets: sealed } = await db
      .selectFrom("application")
      .select("secrets")
      .where("resource_id", "=", id)
      .executeTakeFirstOrThrow();
    const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== undefined));
    const merged = { ...openSecrets(context, resource.uuid, sealed), ...given };
    await db
      .updateTable("application")
      .set({ secrets: sealSecrets(context, resource.uuid, merged) })
      .where("resource_id", "=", id)
      .execute();
  }
  return resource;
}

const secretsPlace = (uuid: string) => `application ${uuid} secrets`;

const sealSecrets = ({ cipher }: Context, uuid: string, secrets: ApplicationSecrets): Uint8Array =>
  cipher.seal(JSON.stringify(secrets), secretsPlace(uuid));

export function openSecrets({ cipher }: Context, uuid: string, sealed: Uint8Array | null): ApplicationSecrets {
  if (sealed === null) return SECRET_DEFAULTS;
  // Sealed by us from the same type, and authenticated; a secret added since reads as its default.
  const stored = JSON.parse(cipher.open(sealed, secretsPlace(uuid))) as Partial<ApplicationSecrets>;
  return { ...SECRET_DEFAULTS, ...stored };
}
