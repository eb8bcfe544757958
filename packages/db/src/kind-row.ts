import { notFound } from "@berth/core";
import { onServer } from "@berth/core/application";
import type {
  KindFilter,
  KindStore,
  NewResource,
  Page,
  Paging,
  Placement,
  ResourceChange,
  ResourceRecord,
  Routing,
} from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import { idsOf, type StoreContext, type TeamContext } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { emitResourceEvent, keptTotal, RESOURCE_COLUMNS } from "./resource-row.ts";
import { type RoutingKey, routingOf } from "./routing.ts";
import type { DB } from "./schema.ts";
import { sharedRead } from "./shared-read.ts";

// Every kind of resource has a row in `resource`, and one in its own table with its settings in one jsonb column and
// its secrets encrypted in one value.

/** One value, since decoding a column costs more than decoding a key of it. */
const PLACEMENT = sql<Placement>`jsonb_build_object(
  'project_uuid', project.uuid, 'project_name', project.name,
  'environment_uuid', environment.uuid, 'environment_name', environment.name,
  'server_uuid', server.uuid, 'server_name', server.name, 'server_ip', server.ip,
  'server_engine', server.engine,
  'is_server_functional', (coalesce((server.settings ->> 'is_reachable')::boolean, false)
      or coalesce((server.settings ->> 'is_substituted')::boolean, false))
    and coalesce((server.settings ->> 'is_usable')::boolean, false)
    and not coalesce((server.settings ->> 'force_disabled')::boolean, false),
  'destination_uuid', destination.uuid, 'destination_name', destination.name,
  'destination_network', destination.network)`;

export const joinPlace = (db: Kysely<DB>) =>
  db
    .selectFrom("resource")
    .innerJoin("environment", "environment.id", "resource.environment_id")
    .innerJoin("project", "project.id", "environment.project_id")
    .innerJoin("server", "server.id", "resource.server_id")
    .innerJoin("destination", "destination.id", "resource.destination_id");

/** Resources with the names of their place; each kind joins its own table. */
export const selectPlaced = (db: Kysely<DB>) => joinPlace(db).select([...RESOURCE_COLUMNS, PLACEMENT.as("placement")]);

/**
 * Inserts the row of `resource` and emits an event. The row of the kind's own table follows in the same transaction.
 * @throws DomainError `resource.not_found` if the place belongs to another team
 */
export async function insertResource(
  context: TeamContext,
  kind: ResourceKind,
  { uuid, environment_id, server_id, destination_id, name, description }: NewResource,
): Promise<ResourceRecord> {
  // Selected from the place's own rows, so that places of other teams and destinations of other servers match
  // nothing.
  const resource = await context.db
    .insertInto("resource")
    .columns(["uuid", "kind", "team_id", "environment_id", "server_id", "destination_id", "name", "description"])
    .expression((eb) =>
      eb
        .selectFrom("environment")
        .innerJoin("project", "project.id", "environment.project_id")
        .innerJoin("server", "server.team_id", "project.team_id")
        .innerJoin("destination", "destination.server_id", "server.id")
        .where("project.team_id", "=", context.teamId)
        .where("environment.id", "=", environment_id)
        .where("server.id", "=", server_id)
        .where("destination.id", "=", destination_id)
        .where("server.removing_at", "is", null)
        // Waits for a removal of the server that is being requested, and delays a later one.
        .forKeyShare("server")
        .select([
          sql<string>`${uuid}::text`.as("uuid"),
          sql<ResourceKind>`${kind}::text`.as("kind"),
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
  emitResourceEvent(context, resource, "resource.created");
  return resource;
}

/** Changes a resource of the team and of this kind; `undefined` if there is none. Only in a transaction. */
export async function updateResource<Settings, Secrets extends object>(
  context: TeamContext,
  kind: ResourceKind,
  id: number,
  { name, description, settings, secrets }: ResourceChange<Settings, Secrets>,
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
    .where("kind", "=", kind)
    .returning("uuid")
    .executeTakeFirst();
  if (resource === undefined) return undefined;
  if (settings !== undefined) {
    await sql`update ${sql.table(kind)} set settings = settings || ${JSON.stringify(settings)}::jsonb
      where resource_id = ${id}`.execute(db);
  }
  const given = Object.fromEntries(Object.entries(secrets ?? {}).filter(([, value]) => value !== undefined));
  if (Object.keys(given).length > 0) {
    // The update above has locked the resource's row, so nobody changes its other secrets in between.
    const { rows } = await sql<{ secrets: Uint8Array | null }>`select secrets from ${sql.table(kind)}
      where resource_id = ${id}`.execute(db);
    const stored = openSecrets(context, kind, resource.uuid, rows[0]?.secrets ?? null, {});
    const merged = sealSecrets(context, kind, resource.uuid, { ...stored, ...given });
    await sql`update ${sql.table(kind)} set secrets = ${merged} where resource_id = ${id}`.execute(db);
  }
  return resource;
}

/** A list of the team's resources of a kind, sorted by id. @param select `selectPlaced` with the kind's own table. */
export function listOfKind<TB extends keyof DB, Row>(
  context: TeamContext,
  kind: ResourceKind,
  select: SelectQueryBuilder<DB, TB | "resource", Row>,
  { ids, environment_id, tag }: KindFilter & { readonly tag?: string | undefined },
  paging: Paging,
): Promise<Page<Row>> {
  const conditions = [
    sql<boolean>`resource.team_id = ${context.teamId}`,
    sql<boolean>`resource.kind = ${kind}`,
    ...(environment_id === undefined ? [] : [sql<boolean>`resource.environment_id = ${environment_id}`]),
    ...(tag === undefined ? [] : [sql<boolean>`resource.id in (${tagged(context, tag)})`]),
    ...(ids === undefined ? [] : [sql<boolean>`resource.id in ${idsOf(ids)}`]),
  ];
  const isMatching = sql<boolean>`${sql.join(conditions, sql` and `)}`;
  return page(
    paging,
    (window) => {
      const owner =
        environment_id === undefined
          ? ({ owner: sql.ref<number>("resource.team_id"), is: context.teamId } as const)
          : ({ owner: sql.ref<number>("resource.environment_id"), is: environment_id } as const);
      const rows = select.where(isMatching);
      const order = { ...owner, id: sql.ref<number>("resource.id") };
      if (window.offset === 0) return within(ofOwner(rows, order), window).execute();
      // The rows before the page are counted in the index, and not joined.
      const ids = context.db.selectFrom("resource").select("resource.id").where(isMatching);
      const first = within(ofOwner(ids, order), { offset: window.offset, limit: 1 });
      const page = ofOwner(rows.where(sql<boolean>`resource.id >= (${first})`), order);
      return within(page, { ...window, offset: 0 }).execute();
    },
    () =>
      tag === undefined && ids === undefined
        ? keptTotal(context, { kind, ...(environment_id === undefined ? {} : { environment_id }) })
        : countRows(context.db.selectFrom("resource").where(isMatching)),
  );
}

const sharedList = sharedRead<Page<unknown>>();

/** How the rows of a kind are read. */
export interface KindRows<TB extends keyof DB, Row, Resource, Secrets> {
  readonly kind: ResourceKind;
  /** Its name in `… not found.` */
  readonly thing: string;
  /** `selectPlaced` joined with the kind's own table. */
  select(db: Kysely<DB>): SelectQueryBuilder<DB, TB | "resource", Row>;
  /** Runs for every request about one resource, of whatever team. */
  findByUuid(db: Kysely<DB>, uuid: string): Promise<(Row & { readonly team_id: number }) | undefined>;
  record(row: Row): Resource;
  readonly secretDefaults: Secrets;
}

/** The reading functions of a kind's store, which all kinds share. */
export function readKind<TB extends keyof DB, Row, Resource, Secrets extends object>(
  context: TeamContext,
  { kind, thing, select, findByUuid, record, secretDefaults }: KindRows<TB, Row, Resource, Secrets>,
): Pick<KindStore<Resource, NewResource, unknown, Secrets>, "list" | "find" | "secrets" | "secretsOf"> {
  const { db, teamId } = context;
  const secretsOf = (ids: readonly number[]) => secretsOfKind(context, kind, ids, secretDefaults);
  return {
    list(filter, paging = {}) {
      const list = async () => {
        const { items, total } = await listOfKind(context, kind, select(db), filter, paging);
        return { items: items.map(record), total };
      };
      // The key names the kind, which decides what the records are.
      return sharedList(db, JSON.stringify([kind, teamId, filter, paging]), list) as ReturnType<typeof list>;
    },
    async find(uuid) {
      const row = await findByUuid(db, uuid);
      return row?.team_id === teamId ? record(row) : undefined;
    },
    async secrets(id) {
      const secrets = (await secretsOf([id])).get(id);
      if (secrets === undefined) throw notFound(thing);
      return secrets;
    },
    secretsOf,
  };
}

/** A resource of this kind with its secrets. */
interface SubjectOf<Kind extends ResourceKind, Resource, Secrets> {
  readonly kind: Kind;
  readonly record: Resource;
  readonly secrets: Secrets;
}

const sealedOf = (kind: ResourceKind) => sql<Uint8Array | null>`${sql.table(kind)}.secrets`.as("sealed");

/** A row of `select` with the sealed secrets as a resource with its secrets. */
function subjectOf<
  Kind extends ResourceKind,
  TB extends keyof DB,
  Row,
  Resource extends ResourceRecord,
  Secrets extends object,
>(
  context: StoreContext,
  { kind, record, secretDefaults }: KindRows<TB, Row, Resource, Secrets> & { readonly kind: Kind },
  { sealed, ...row }: { readonly sealed: Uint8Array | null },
): SubjectOf<Kind, Resource, Secrets> {
  // It has every column that `select` names.
  const found = record(row as Row);
  return { kind, record: found, secrets: openSecrets(context, kind, found.uuid, sealed, secretDefaults) };
}

/** Resources of this kind with their secrets, of any team, by id. */
export async function readSubjects<
  Kind extends ResourceKind,
  TB extends keyof DB,
  Row,
  Resource extends ResourceRecord,
  Secrets extends object,
>(
  context: StoreContext,
  kindRows: KindRows<TB, Row, Resource, Secrets> & { readonly kind: Kind },
  ids: readonly number[],
): Promise<ReadonlyMap<number, SubjectOf<Kind, Resource, Secrets>>> {
  const rows = await kindRows
    .select(context.db)
    .select(sealedOf(kindRows.kind))
    .where(sql<boolean>`resource.id = any(${ids}::bigint[])`)
    .execute();
  const subjects = rows.map((row) => subjectOf(context, kindRows, row));
  return new Map(subjects.map((subject) => [subject.record.id, subject]));
}

/** A resource of this kind with its secrets, of any team, and what the route of one of its parts is made of. */
export async function readSubject<
  Kind extends ResourceKind,
  TB extends keyof DB,
  Row,
  Resource extends ResourceRecord,
  Secrets extends object,
>(
  context: StoreContext,
  kindRows: KindRows<TB, Row, Resource, Secrets> & { readonly kind: Kind },
  key: RoutingKey,
): Promise<(Omit<Routing, "subject"> & { readonly subject: SubjectOf<Kind, Resource, Secrets> }) | undefined> {
  const read = await kindRows
    .select(context.db)
    .select([sealedOf(kindRows.kind), routingOf(key).as("routing")])
    .where(sql<boolean>`resource.id = ${key.resource_id}`)
    .executeTakeFirst();
  if (read === undefined) return undefined;
  const {
    routing: { here, ...routing },
    ...row
  } = read;
  const subject = subjectOf(context, kindRows, row);
  return { subject: here === null ? subject : { ...subject, record: onServer(subject.record, here) }, ...routing };
}

/** Reads a row that was inserted in the current transaction. */
export const readNew = async <TB extends keyof DB, Row, Resource, Secrets>(
  { db }: StoreContext,
  { select, record }: KindRows<TB, Row, Resource, Secrets>,
  id: number,
): Promise<Resource> => record(await select(db).where(sql<boolean>`resource.id = ${id}`).executeTakeFirstOrThrow());

const tagged = ({ db, teamId }: TeamContext, tag: string) =>
  db
    .selectFrom("resource_tag")
    .innerJoin("tag", "tag.id", "resource_tag.tag_id")
    .select("resource_tag.resource_id")
    .where("tag.team_id", "=", teamId)
    .where("tag.name", "=", tag);

/** Secrets of several resources of the team, by id. */
export async function secretsOfKind<Secrets extends object>(
  context: TeamContext,
  kind: ResourceKind,
  ids: readonly number[],
  defaults: Secrets,
): Promise<ReadonlyMap<number, Secrets>> {
  const { rows } = await sql<{ id: number; uuid: string; secrets: Uint8Array | null }>`
    select resource.id, resource.uuid, secrets from ${sql.table(kind)} join resource on resource.id = resource_id
    where resource.id in ${idsOf(ids)} and resource.team_id = ${context.teamId}`.execute(context.db);
  return new Map(rows.map(({ id, uuid, secrets }) => [id, openSecrets(context, kind, uuid, secrets, defaults)]));
}

/** Encrypted for its row: a value copied to another row cannot be decrypted. */
const secretsPlace = (kind: ResourceKind, uuid: string) => `${kind} ${uuid} secrets`;

export const sealSecrets = ({ cipher }: StoreContext, kind: ResourceKind, uuid: string, secrets: object): Uint8Array =>
  cipher.seal(JSON.stringify(secrets), secretsPlace(kind, uuid));

export function openSecrets<Secrets extends object>(
  { cipher }: StoreContext,
  kind: ResourceKind,
  uuid: string,
  sealed: Uint8Array | null,
  defaults: Secrets,
): Secrets {
  if (sealed === null) return defaults;
  // Encrypted by this package from the same type, and authenticated; a secret added later reads as its default.
  const stored = JSON.parse(cipher.open(sealed, secretsPlace(kind, uuid))) as Partial<Secrets>;
  return { ...defaults, ...stored };
}
