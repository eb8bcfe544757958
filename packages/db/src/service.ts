import { notFound } from "@berth/core";
import type {
  Routing,
  ServiceContainerRecord,
  ServiceRecord,
  ServiceStore,
  SystemServiceStore,
} from "@berth/core/ports";
import { ServiceSecrets, ServiceSettings } from "@berth/core/service";
import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import { idsOf, inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import {
  insertResource,
  readKind,
  readNew,
  readSubject,
  readSubjects,
  sealSecrets,
  selectPlaced,
  updateResource,
} from "./kind-row.ts";
import { isAnyOf, lookup } from "./lookup.ts";
import { setResourceStatus } from "./resource-row.ts";
import type { RoutingKey } from "./routing.ts";
import type { DB } from "./schema.ts";

const SERVICE_COLUMNS = ["service.service_type", "service.settings", "service.last_online_at"] as const;

const CONTAINER_COLUMNS = [
  "service_container.id",
  "service_container.uuid",
  "service_container.resource_id",
  "service_container.kind",
  "service_container.name",
  "service_container.human_name",
  "service_container.description",
  "service_container.image",
  "service_container.fqdn",
  "service_container.ports",
  "service_container.exposes",
  "service_container.status",
  "service_container.exclude_from_status",
  "service_container.port",
  "service_container.last_online_at",
  "service_container.created_at",
  "service_container.updated_at",
] as const;

// Settings added after a row was written read as their default.
const SETTING_DEFAULTS = ServiceSettings.parse({});
const SECRET_DEFAULTS = ServiceSecrets.parse({});

const selectServices = (db: Kysely<DB>) =>
  selectPlaced(db).innerJoin("service", "service.resource_id", "resource.id").select(SERVICE_COLUMNS);

const findByUuid = lookup(
  (db, uuids) => selectServices(db).where(isAnyOf("resource.uuid", uuids)),
  ({ uuid }) => uuid,
);

type ServiceRow = Omit<ServiceRecord, "settings"> & { readonly settings: Readonly<Record<string, unknown>> };

const serviceRecord = (row: ServiceRow): ServiceRecord => ({
  ...row,
  // Written by this package from the same type.
  settings: { ...SETTING_DEFAULTS, ...(row.settings as Partial<ServiceSettings>) },
});

const ROWS = {
  kind: "service",
  thing: "Service",
  select: selectServices,
  findByUuid,
  record: serviceRecord,
  secretDefaults: SECRET_DEFAULTS,
} as const;

export function serviceStore(context: TeamContext): ServiceStore {
  const { db, teamId } = context;
  const ownContainers = () =>
    db
      .selectFrom("service_container")
      .innerJoin("resource", "resource.id", "service_container.resource_id")
      .where("resource.team_id", "=", teamId)
      .select(CONTAINER_COLUMNS);
  return {
    ...readKind(context, ROWS),
    insert: (service) => inTransaction(context, (tx) => insert(tx, service)),
    update: (id, change) =>
      inTransaction(context, async (tx) => {
        const { uuid } = (await updateResource(tx, "service", id, change)) ?? {};
        return uuid === undefined ? undefined : await serviceStore(tx).find(uuid);
      }),
    containers: (ids) => inOrder(ownContainers().where("service_container.resource_id", "in", idsOf(ids))),
    findContainer: (uuid) => ownContainers().where("service_container.uuid", "=", uuid).executeTakeFirst(),
    saveContainers: (id, containers) => inTransaction(context, (tx) => saveContainers(tx, id, containers)),
  };
}

const inOrder = <Row>(query: SelectQueryBuilder<DB, "service_container" | "resource", Row>) =>
  query.orderBy("service_container.resource_id").orderBy("service_container.position").execute();

async function insert(context: TeamContext, service: Parameters<ServiceStore["insert"]>[0]): Promise<ServiceRecord> {
  const { db } = context;
  const { uuid, service_type, settings, secrets } = service;
  const { id } = await insertResource(context, "service", service);
  await db
    .insertInto("service")
    .values({
      resource_id: id,
      service_type,
      settings: JSON.stringify(settings),
      secrets: sealSecrets(context, "service", uuid, secrets),
    })
    .execute();
  return await readNew(context, ROWS, id);
}

async function saveContainers(
  context: TeamContext,
  id: number,
  containers: Parameters<ServiceStore["saveContainers"]>[1],
): Promise<readonly ServiceContainerRecord[]> {
  const { db, teamId } = context;
  const owner = await db
    .selectFrom("resource")
    .select("id")
    .where("id", "=", id)
    .where("team_id", "=", teamId)
    .where("kind", "=", "service")
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (owner === undefined) throw notFound("Service");
  const rows = JSON.stringify(containers.map((container, position) => ({ ...container, position })));
  await sql`delete from service_container where resource_id = ${id}
    and name <> all(${containers.map(({ name }) => name)}::text[])`.execute(db);
  await sql`
    insert into service_container
      (uuid, resource_id, kind, name, image, ports, exposes, exclude_from_status, port, position)
    select given.uuid, ${id}::bigint, given.kind, given.name, given.image, given.ports, given.exposes,
      given.exclude_from_status, given.port, given.position
    from jsonb_to_recordset(${rows}::jsonb) as given (uuid text, kind text, name text, image text, ports text,
      exposes text, exclude_from_status boolean, port integer, position integer)
    on conflict on constraint service_container_name do update set kind = excluded.kind, image = excluded.image,
      ports = excluded.ports, exposes = excluded.exposes, exclude_from_status = excluded.exclude_from_status,
      port = excluded.port, position = excluded.position, updated_at = now()`.execute(db);
  return await serviceStore(context).containers([id]);
}

/** The subject of a deployment, of any team. */
export async function serviceSubject(context: StoreContext, key: RoutingKey): Promise<Routing | undefined> {
  const found = await readSubject(context, ROWS, key);
  if (found === undefined) return undefined;
  const containers = await context.db
    .selectFrom("service_container")
    .select(CONTAINER_COLUMNS)
    .where("resource_id", "=", key.resource_id)
    .orderBy("position")
    .execute();
  return { ...found, subject: { ...found.subject, containers } };
}

/** The subjects of several, by id. */
export async function serviceSubjects(context: StoreContext, ids: readonly number[]) {
  const found = await readSubjects(context, ROWS, ids);
  const rows = await context.db
    .selectFrom("service_container")
    .select(CONTAINER_COLUMNS)
    .where(sql<boolean>`resource_id = any(${ids}::bigint[])`)
    .orderBy("resource_id")
    .orderBy("position")
    .execute();
  const containersOf = Map.groupBy(rows, ({ resource_id }) => resource_id);
  return new Map(
    [...found].map(([id, subject]) => [id, { ...subject, containers: containersOf.get(id) ?? [] }] as const),
  );
}

export function systemServiceStore(context: StoreContext): SystemServiceStore {
  return {
    setStatuses: (id, { status, containers, problem, replaces }) =>
      inTransaction(context, async (tx) => {
        if (replaces !== undefined && !(await hasStatus(tx, id, replaces))) return;
        await sql`update service_container set status = seen.status, updated_at = now(),
            last_online_at = case when 'running' in (split_part(seen.status, ':', 1),
              split_part(service_container.status, ':', 1)) then now() else last_online_at end
          from jsonb_each_text(${JSON.stringify(containers)}::jsonb) as seen (name, status)
          where resource_id = ${id} and service_container.name = seen.name
            and service_container.status <> seen.status`.execute(tx.db);
        await setResourceStatus(tx, id, { status, problem });
      }),
  };
}

/** Locks the service, so that its status stays what it is. */
async function hasStatus({ db }: StoreContext, id: number, status: string): Promise<boolean> {
  const found = await db
    .selectFrom("resource")
    .select("status")
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  return found?.status === status;
}
