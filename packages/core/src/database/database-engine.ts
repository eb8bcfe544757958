import { clickhouse } from "./engine/clickhouse.ts";
import { mongodb } from "./engine/mongodb.ts";
import { mariadb, mysql } from "./engine/mysql.ts";
import { postgresql } from "./engine/postgresql.ts";
import { dragonfly, keydb, redis } from "./engine/redis.ts";
import type { DatabaseAddress, EngineField, EngineRow, EngineValues } from "./engine/row.ts";
import { isTls } from "./engine/tls.ts";

/** The supported database engines. Each row has all that Berth knows about its engine. */
export const DATABASE_ENGINES = {
  postgresql,
  mysql,
  mariadb,
  mongodb,
  redis,
  keydb,
  dragonfly,
  clickhouse,
} as const satisfies Readonly<Record<string, EngineRow>>;

type Engines = typeof DATABASE_ENGINES;
export type DatabaseEngine = keyof Engines;

// The type of `Object.keys` is wider: these are exactly the keys.
export const DATABASE_ENGINE_NAMES = Object.keys(DATABASE_ENGINES) as readonly DatabaseEngine[];

/** The names of an engine's own fields that a caller may set. */
export type SettableFieldName<E extends DatabaseEngine = DatabaseEngine> = {
  [Engine in E]: {
    [Name in keyof Engines[Engine]["fields"]]: Engines[Engine]["fields"][Name] extends {
      readonly type: "fixed" | "issued";
    }
      ? never
      : Name & string;
  }[keyof Engines[Engine]["fields"]];
}[E];

export const databaseEngine = (engine: DatabaseEngine): EngineRow => DATABASE_ENGINES[engine];

/** The engine's own fields by name, in the order of its row. */
export const engineFields = (engine: DatabaseEngine): readonly (readonly [string, EngineField])[] =>
  Object.entries(databaseEngine(engine).fields);

/** Where the value of a field is stored. */
export type FieldHome = "settings" | "secrets" | "variables" | "row";

export function homeOf({ type, variable }: EngineField): FieldHome {
  if (variable !== null) return "variables";
  if (type === "password" || type === "scripts") return "secrets";
  return type === "fixed" ? "row" : "settings";
}

/** The values of all fields of the engine; `null` for those that are not stored. */
export const engineValues = (
  engine: DatabaseEngine,
  known: Readonly<Record<string, string | null | undefined>>,
): EngineValues =>
  Object.fromEntries(
    engineFields(engine).map(([name, field]) => [
      name,
      homeOf(field) === "row" ? field.default : (known[name] ?? null),
    ]),
  );

/** The port that the database listens on. */
export function enginePort(engine: DatabaseEngine, values: EngineValues): number {
  const { port, tlsPort = port } = databaseEngine(engine);
  return isTls(values) ? tlsPort : port;
}

/** A URL for clients. @param host Name or address; brackets are added to IPv6 addresses. */
export function databaseUrl({ scheme, user, password, path }: DatabaseAddress, host: string, port: number): string {
  const login = user === null && password === null ? "" : `${encoded(user)}${passwordPart(password)}@`;
  return `${scheme}://${login}${host.includes(":") ? `[${host}]` : host}:${port}${path}`;
}

const passwordPart = (password: string | null) => (password === null ? "" : `:${encoded(password)}`);

/**
 * Only the unreserved characters of RFC 3986 (letters, digits and - . _ ~) are left unencoded, since clients treat
 * others differently.
 */
const encoded = (text: string | null): string =>
  encodeURIComponent(text ?? "").replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
