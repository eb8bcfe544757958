import { z } from "zod";
import { InitScript, initScripts } from "../application/init-script.ts";
import { BackupConfiguration } from "../backup/backup-view.ts";
import { STATUS_PROBLEM, shownStatus } from "../deploy/shown-status.ts";
import { LIMIT_FIELDS } from "../limits.ts";
import type { DatabaseRecord } from "../ports/database.ts";
import { forwardOf } from "../server/forward.ts";
import { ENGINES } from "../server/server-settings.ts";
import { PlainTimestamp, plainTimestamp, Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { databaseType } from "./database.ts";
import {
  DATABASE_ENGINE_NAMES,
  DATABASE_ENGINES,
  type DatabaseEngine,
  databaseEngine,
  databaseUrl,
  engineFields,
  enginePort,
  engineValues,
  homeOf,
} from "./database-engine.ts";
import type { EngineField } from "./engine/row.ts";

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();
const integer = z.int();
const secretText = z.string().nullable().optional();

const scriptsAnswer = z.array(InitScript).nullable().optional();

/** The answer's type of a field: fields that are variables are as secret as variables. */
type FieldAnswer<Field extends EngineField> = Field["variable"] extends string
  ? typeof secretText
  : (typeof ANSWERS)[Field["type"]];

/** Schemas of answers by type of field. */
const ANSWERS = {
  password: secretText,
  scripts: scriptsAnswer,
  identifier: text,
  fixed: text,
  choice: text,
  flag,
  text: textOrNull,
  configuration: textOrNull,
  issued: textOrNull,
} as const satisfies Record<EngineField["type"], z.ZodType>;

type FieldsOf<E extends DatabaseEngine> = (typeof DATABASE_ENGINES)[E]["fields"];
type FieldsAnswer<E extends DatabaseEngine> = {
  [Name in keyof FieldsOf<E>]: FieldsOf<E>[Name] extends infer Field extends EngineField ? FieldAnswer<Field> : never;
};

function fieldsAnswer<E extends DatabaseEngine>(engine: E): FieldsAnswer<E> {
  const answers = engineFields(engine).map(([name, field]) => {
    const answer = field.variable === null ? ANSWERS[field.type] : secretText;
    return [name, answer.describe(isSecret(field) ? `${field.about} Absent without read:sensitive.` : field.about)];
  });
  // Has one schema for each field, chosen as the type says.
  return Object.fromEntries(answers) as FieldsAnswer<E>;
}

const isSecret = (field: EngineField): boolean => ["secrets", "variables"].includes(homeOf(field));

const COMMON = {
  uuid: text,
  name: text,
  description: textOrNull,
  status: text.describe("`state:health`, e.g. `running:healthy` or `exited:unhealthy`."),
  status_problem: textOrNull.describe(STATUS_PROBLEM),
  image: text,
  is_public: flag.describe("Reachable from outside its server."),
  public_port: integer.nullable(),
  public_port_problem: textOrNull.describe("Why public_port does not work, as last observed. Null while it works."),
  public_port_timeout: integer.nullable().describe("Seconds."),
  ports_mappings: textOrNull,
  internal_db_url: secretText.describe("URL for resources in the same network. Absent without read:sensitive."),
  external_db_url: secretText.describe(
    "URL from outside its server. Null unless it is public. Absent without read:sensitive.",
  ),
  ...LIMIT_FIELDS,
  health_check_enabled: flag,
  health_check_interval: integer.describe("Seconds."),
  health_check_timeout: integer.describe("Seconds."),
  health_check_retries: integer,
  health_check_start_period: integer.describe("Seconds."),
  enable_ssl: flag.describe("Clients connect with TLS."),
  certificate_expires_at: Timestamp.nullable().describe(
    "Expiry of the certificate that it uses from its next start on.",
  ),
  is_log_drain_enabled: flag,
  is_include_timestamps: flag,
  custom_docker_run_options: textOrNull,
  config_hash: textOrNull,
  project_uuid: text,
  environment_id: integer,
  environment_uuid: text,
  environment_name: text,
  server_uuid: text,
  server_status: flag.describe("Its server is reachable and usable."),
  destination_type: text,
  destination_id: integer,
  destination_uuid: text,
  backup_configs: z.array(BackupConfiguration).optional().describe("In the list of databases only."),
  restart_count: integer,
  last_restart_at: Timestamp.nullable(),
  last_restart_type: textOrNull,
  last_online_at: PlainTimestamp,
  started_at: PlainTimestamp.nullable(),
  created_at: Timestamp.nullable(),
  updated_at: Timestamp.nullable(),
  deleted_at: Timestamp.nullable(),
};

const databaseAnswer = <E extends DatabaseEngine>(engine: E) =>
  z
    .object({ database_type: z.literal(databaseType(engine)), ...COMMON, ...fieldsAnswer(engine) })
    .meta({ id: `Database-${engine}`, description: `A database of ${DATABASE_ENGINES[engine].title}.` });

type DatabaseAnswers = { readonly [E in DatabaseEngine]: ReturnType<typeof databaseAnswer<E>> };

/** Answer schemas, by engine. */
export const DATABASE_ANSWERS = Object.fromEntries(
  DATABASE_ENGINE_NAMES.map((engine) => [engine, databaseAnswer(engine)]),
  // Has one entry for each engine, as the type says; `map` returns one common type.
) as unknown as DatabaseAnswers;

type AnyAnswer = DatabaseAnswers[DatabaseEngine];

export const Database = z
  // There are at least two engines, as the union requires.
  .discriminatedUnion(
    "database_type",
    Object.values(DATABASE_ANSWERS) as unknown as readonly [AnyAnswer, ...AnyAnswer[]],
  )
  .meta({ id: "Database", description: "A database of any engine." });
export type Database = z.infer<typeof Database>;

type CollectionShape = {
  [E in DatabaseEngine as (typeof DATABASE_ENGINES)[E]["collection"]]: z.ZodArray<DatabaseAnswers[E]>;
};

/** The databases of an environment, by engine. */
export const DatabaseCollections = z.object(
  Object.fromEntries(
    DATABASE_ENGINE_NAMES.map((engine) => [databaseEngine(engine).collection, z.array(DATABASE_ANSWERS[engine])]),
    // Has one key for each engine, as the type says.
  ) as CollectionShape,
);
export type DatabaseCollections = z.infer<typeof DatabaseCollections>;

export const databaseCollections = (databases: readonly Database[]): DatabaseCollections =>
  Object.fromEntries(
    DATABASE_ENGINE_NAMES.map((engine) => [
      databaseEngine(engine).collection,
      databases.filter(({ database_type }) => database_type === databaseType(engine)),
    ]),
    // Has the schema of each engine, as the type says.
  ) as DatabaseCollections;

export const CreatedDatabase = z
  .object({
    uuid: text,
    internal_db_url: text.describe(
      "URL for resources in the same network. Contains the password only for tokens that may read secrets.",
    ),
    external_db_url: text.optional().describe("URL from outside its server, only if it is public."),
  })
  .meta({ id: "CreatedDatabase", description: "A new database and how to reach it." });
export type CreatedDatabase = z.infer<typeof CreatedDatabase>;

export type KnownValues = Readonly<Record<string, string | null>>;

/** URLs of a database: in its network by its uuid, and from outside by its server's address. */
export function databaseUrls(database: DatabaseRecord, secrets: KnownValues) {
  const { is_public, public_port, placement } = database;
  const isReachable = is_public && public_port !== null;
  return {
    internal_db_url: urlOfDatabase(database, secrets),
    external_db_url: isReachable
      ? urlOfDatabase(database, secrets, { host: outerHost(placement.server_ip), port: public_port })
      : null,
  };
}

/** @param at Left out for clients in its network. */
export function urlOfDatabase(
  { uuid, engine, settings, fields }: Pick<DatabaseRecord, "uuid" | "engine" | "settings" | "fields">,
  secrets: KnownValues,
  at?: { readonly host: string; readonly port: number },
): string {
  const values = engineValues(engine, { ...fields, ...secrets });
  const address = databaseEngine(engine).address(values, settings.image);
  return databaseUrl(address, at?.host ?? uuid, at?.port ?? enginePort(engine, values));
}

/** For callers that may not read secrets. */
export function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = "";
  return url.href;
}

/** The name by which containers reach their own machine. It is unknown elsewhere. */
const CONTAINERS_HOST = /(^|\.)host\.docker\.internal$/;
export const isContainersHost = (ip: string): boolean => CONTAINERS_HOST.test(ip);
export const outerHost = (ip: string): string => (isContainersHost(ip) ? "localhost" : ip);

/** Secret fields by name, whether they are stored as secrets or as variables. */
export const fieldValues = (engine: DatabaseEngine, kept: KnownValues): KnownValues =>
  Object.fromEntries(
    engineFields(engine).flatMap(([name, field]) => {
      const value = kept[field.variable ?? name];
      return isSecret(field) && value !== undefined ? [[name, value]] : [];
    }),
  );

export interface DatabaseViewOptions {
  /** Values of the secret fields, by name; `undefined` for callers that may not read secrets. */
  readonly secrets: KnownValues | undefined;
}

export function databaseView(database: DatabaseRecord, { secrets }: DatabaseViewOptions): Database {
  const { engine, placement, settings } = database;
  const view = {
    database_type: databaseType(engine),
    uuid: database.uuid,
    name: database.name,
    description: database.description,
    status: shownStatus(database),
    status_problem: database.status_problem,
    is_public: database.is_public,
    public_port: database.public_port,
    // A stopped database has no forward, so an old problem of its port is not shown.
    public_port_problem: forwardOf(database) === undefined ? null : database.public_port_problem,
    ...NEVER_SET,
    ...settings,
    ...openFields(database),
    ...(secrets === undefined ? {} : secretFields(database, secrets)),
    certificate_expires_at: timestampOrNull(database.certificate_expires_at),
    project_uuid: placement.project_uuid,
    environment_id: database.environment_id,
    environment_uuid: placement.environment_uuid,
    environment_name: placement.environment_name,
    server_uuid: placement.server_uuid,
    server_status: placement.is_server_functional,
    destination_type: ENGINES[placement.server_engine].destinationType,
    destination_id: database.destination_id,
    destination_uuid: placement.destination_uuid,
    restart_count: database.restart_count,
    last_restart_at: timestampOrNull(database.last_restart_at),
    last_restart_type: database.last_restart_at === null ? null : "crash",
    last_online_at: plainTimestamp(database.last_online_at ?? database.created_at),
    started_at: database.started_at && plainTimestamp(database.started_at),
    created_at: timestamp(database.created_at),
    updated_at: timestamp(database.updated_at),
    deleted_at: timestampOrNull(database.removing_at),
  };
  // The fields are those of the engine's row, which the schema is made from too.
  return view as unknown as Database;
}

const openFields = ({ engine, fields }: DatabaseRecord) =>
  Object.fromEntries(
    engineFields(engine)
      .filter(([, field]) => !isSecret(field))
      .map(([name, field]) => {
        const value = homeOf(field) === "row" ? field.default : (fields[name] ?? initial(field));
        return [name, field.type === "flag" ? value === "true" : value];
      }),
  );

/** The value for a database that was created before the engine had this field. */
const initial = ({ type, default: byDefault }: EngineField): string | null =>
  type === "flag" || type === "choice" ? byDefault : null;

function secretFields(database: DatabaseRecord, secrets: KnownValues) {
  const fields = engineFields(database.engine).filter(([, field]) => isSecret(field));
  return {
    ...Object.fromEntries(
      fields.map(([name, { type }]) => [name, (type === "scripts" ? shownScripts : same)(secrets[name] ?? null)]),
    ),
    ...databaseUrls(database, secrets),
  };
}

const same = (value: string | null) => value;

function shownScripts(kept: string | null) {
  const scripts = initScripts(kept);
  return scripts.length === 0 ? null : scripts;
}

/** Fields that clients of this API family read, and that no operation sets. */
const NEVER_SET = {
  ports_mappings: null,
  enable_ssl: false,
  is_log_drain_enabled: false,
  is_include_timestamps: false,
  custom_docker_run_options: null,
  config_hash: null,
};
