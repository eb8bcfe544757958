import { DomainError } from "@berth/core";
import { databaseDefaults } from "@berth/core/database";
import type { DatabaseRecord, DatabaseSecrets, DatabaseStore, SystemDatabaseStore } from "@berth/core/ports";
import { type Kysely, sql } from "kysely";
import { emit, idsOf, inTransaction, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
import { violates } from "./errors.ts";
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
import type { RoutingKey } from "./routing.ts";
import type { DB } from "./schema.ts";

const DATABASE_COLUMNS = [
  "database.engine",
  "database.settings",
  "database.is_public",
  "database.public_port",
  "database.public_port_problem",
  "database.loopback_port",
  "database.restart_count",
  "database.last_restart_at",
  "database.last_online_at",
  "database.started_at",
  "database.certificate_expires_at",
] as const;

/** Common settings and the engine's own fields are stored in one value: their names do not overlap. */
type DatabaseRow = Omit<DatabaseRecord, "settings" | "fields"> & {
  readonly settings: Readonly<Record<string, unknown>>;
};

const selectDatabases = (db: Kysely<DB>) =>
  selectPlaced(db).innerJoin("database", "database.resource_id", "resource.id").select(DATABASE_COLUMNS);

const findByUuid = lookup(
  (db, uuids) => selectDatabases(db).where(isAnyOf("resource.uuid", uuids)),
  ({ uuid }) => uuid,
);

function databaseRecord({ settings, ...row }: DatabaseRow): DatabaseRecord {
  const defaults = databaseDefaults(row.engine);
  const isSetting = ([key]: readonly [string, unknown]) => key in defaults;
  const entries = Object.entries(settings);
  return {
    ...row,
    // `insert` and `update` write these types; fields added later read as their default.
    settings: {
      ...defaults,
      ...(Object.fromEntries(entries.filter(isSetting)) as Partial<DatabaseRecord["settings"]>),
    },
    fields: Object.fromEntries(entries.filter((entry) => !isSetting(entry))) as DatabaseRecord["fields"],
  };
}

const ROWS = {
  kind: "database",
  thing: "Database",
  select: selectDatabases,
  findByUuid,
  record: databaseRecord,
  // Each engine has its own passwords, so there are no defaults.
  secretDefaults: {} as DatabaseSecrets,
} as const;

/** The subject of a deployment, of any team. */
export const databaseSubject = (context: StoreContext, key: RoutingKey) => readSubject(context, ROWS, key);

/** The subjects of several, by id. */
export const databaseSubjects = (context: StoreContext, ids: readonly number[]) => readSubjects(context, ROWS, ids);

export function databaseStore(context: TeamContext): Omit<DatabaseStore, "namedBy"> {
  return {
    ...readKind(context, ROWS),
    insert: (database) => inTransaction(context, (tx) => insert(tx, database)),
    update: (id, change) => inTransaction(context, (tx) => update(tx, id, change)),
    giveLoopbackPort: (id) => inTransaction(context, (tx) => giveLoopbackPort(tx, id)),
  };
}

export const systemDatabaseStore = (context: StoreContext): SystemDatabaseStore => ({
  emitExpiring: (before) => inTransaction(context, (tx) => emitExpiring(tx, before)),
  async listForwarded(serverIds) {
    const found = await context.db
      .selectFrom("database")
      .select("resource_id")
      .where(sql<boolean>`server_id = any(${serverIds}::bigint[])`)
      // Equal to the condition of the partial index.
      .where(sql<boolean>`(is_public or loopback_port is not null)`)
      .execute();
    // Most servers have none, and are queried often.
    if (found.length === 0) return [];
    const ids = found.map(({ resource_id }) => resource_id);
    const rows = await selectDatabases(context.db)
      .where("resource.id", "in", idsOf(ids))
      .orderBy("database.public_port")
      .execute();
    return rows.map(databaseRecord);
  },
  async recordPortProblem(id, port, problem) {
    await context.db
      .updateTable("database")
      .set({ public_port_problem: problem })
      .where("resource_id", "=", id)
      // Skips a database whose port changed since: that one was not observed.
      .where(sql<boolean>`case when is_public then public_port else loopback_port end = ${port}`)
      .execute();
  },
});

async function emitExpiring(context: StoreContext, before: Date): Promise<number> {
  interface Expiring {
    readonly team_id: number;
    readonly uuid: string;
    readonly name: string;
    readonly expires_at: Date;
  }
  const { rows } = await sql<Expiring>`
    update database set certificate_told_at = now() from resource
    where resource.id = database.resource_id and certificate_expires_at < ${before} and certificate_told_at is null
      and certificate_expires_at is not null and database.settings ->> 'enable_ssl' = 'true'
    returning resource.team_id, resource.uuid, resource.name, certificate_expires_at as expires_at`.execute(context.db);
  for (const { team_id, uuid, name, expires_at } of rows) {
    emit(context, {
      team_id,
      type: "resource.certificate_expiring",
      resource_uuid: uuid,
      payload: { kind: "database", name, expires_at: expires_at.toISOString() },
    });
  }
  return rows.length;
}

async function insert(context: TeamContext, database: Parameters<DatabaseStore["insert"]>[0]): Promise<DatabaseRecord> {
  const { db } = context;
  const { uuid, engine, settings, fields, secrets, is_public, public_port, server_id } = database;
  const { id } = await insertResource(context, "database", database);
  await db
    .insertInto("database")
    .values({
      resource_id: id,
      server_id,
      engine,
      is_public,
      public_port,
      settings: JSON.stringify({ ...settings, ...fields }),
      secrets: sealSecrets(context, "database", uuid, secrets),
    })
    .execute()
    .catch(explainTakenPort);
  return await readNew(context, ROWS, id);
}

async function update(
  context: TeamContext,
  id: number,
  { settings, fields, access, certificate_expires_at, ...change }: Parameters<DatabaseStore["update"]>[1],
): Promise<DatabaseRecord | undefined> {
  const { db } = context;
  const resource = await updateResource(context, "database", id, { ...change, settings: { ...settings, ...fields } });
  if (resource === undefined) return undefined;
  if (access !== undefined) {
    const { is_public, public_port } = access;
    await db
      .updateTable("database")
      .set({ is_public, public_port, public_port_problem: null })
      .where("resource_id", "=", id)
      .execute()
      .catch(explainTakenPort);
  }
  if (certificate_expires_at !== undefined) {
    await db
      .updateTable("database")
      .set({ certificate_expires_at, certificate_told_at: null })
      .where("resource_id", "=", id)
      .execute();
  }
  return databaseStore(context).find(resource.uuid);
}

/** Random, since other instances may share the machine; below the ports that Linux assigns to connections. */
async function giveLoopbackPort(context: TeamContext, id: number): Promise<void> {
  const { rows } = await sql`
    update database set public_port_problem = null, loopback_port = (
      select port from generate_series(20000, 29999) as port where not exists (
        select 1 from database other where other.server_id = database.server_id
          and (other.loopback_port = port or other.public_port = port))
      order by random() limit 1)
    from resource
    where resource.id = database.resource_id and resource.id = ${id} and resource.team_id = ${context.teamId}
      and not is_public and (loopback_port is null or public_port_problem is not null)
    returning 1`.execute(context.db);
  if (rows.length > 0) wakeWorkers(context, "resource");
}

/** Databases of these environments with these names or uuids, oldest first. */
export async function databasesNamed(
  context: TeamContext,
  environmentIds: readonly number[],
  names: readonly string[],
): Promise<readonly DatabaseRecord[]> {
  const rows = await selectDatabases(context.db)
    .where("resource.team_id", "=", context.teamId)
    .where("resource.environment_id", "in", idsOf(environmentIds))
    // True for every row here, but needed for the index of an environment, which begins with both columns.
    .where("resource.kind", "=", "database")
    .where("resource.removing_at", "is", null)
    .where((eb) => eb.or([eb("resource.name", "in", names), eb("resource.uuid", "in", names)]))
    .orderBy("resource.id")
    .execute();
  return rows.map(databaseRecord);
}

function explainTakenPort(cause: unknown): never {
  if (!violates(cause, "database_public_port")) throw cause;
  throw new DomainError("port.taken", "Public port already used by another database.", { cause });
}
