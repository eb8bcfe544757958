import type { DatabaseFields, DatabaseRecord, DatabaseSecrets } from "../ports/database.ts";
import { type DatabaseEngine, engineFields } from "./database-engine.ts";

/** Names and passwords by field, as a database has them. */
export type DatabaseLogin = Readonly<Record<string, string>>;

/** Stored among the secrets of its database. */
const SECRET = "login";

/** The names and passwords among the values of its fields. */
export const loginOf = (engine: DatabaseEngine, values: DatabaseFields): DatabaseLogin =>
  Object.fromEntries(
    engineFields(engine).flatMap(([name, { type }]) => {
      const value = values[name];
      return (type === "identifier" || type === "password") && typeof value === "string" ? [[name, value]] : [];
    }),
  );

export const passwordsOf = (engine: DatabaseEngine, login: DatabaseLogin): readonly string[] =>
  engineFields(engine).flatMap(([name, { type }]) => (type === "password" ? (login[name] ?? []) : []));

/** What a running database has, which changes of its settings do not change yet; `undefined` before its first start. */
export function liveLogin({ [SECRET]: kept }: DatabaseSecrets): DatabaseLogin | undefined {
  // Only `keptLogin` writes this value.
  return kept === undefined ? undefined : (JSON.parse(kept) as DatabaseLogin);
}

export const keptLogin = (login: DatabaseLogin): DatabaseSecrets => ({ [SECRET]: JSON.stringify(login) });

export const isSameLogin = (one: DatabaseLogin | undefined, other: DatabaseLogin): boolean =>
  one !== undefined && Object.entries(other).every(([name, value]) => one[name] === value);

/** The database and its secret fields with the names and passwords that it has now. */
export function asItRuns<Database extends Pick<DatabaseRecord, "engine" | "fields">>(
  database: Database,
  secrets: DatabaseFields,
  login: DatabaseLogin | undefined,
): { readonly database: Database; readonly secrets: DatabaseFields } {
  if (login === undefined) return { database, secrets };
  const known = Object.entries(login);
  return {
    database: {
      ...database,
      fields: { ...database.fields, ...Object.fromEntries(known.filter(([name]) => name in database.fields)) },
    },
    secrets: { ...secrets, ...Object.fromEntries(known.filter(([name]) => name in secrets)) },
  };
}
