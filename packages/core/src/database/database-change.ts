import { InitScriptsInput, keptScripts, scriptProblems } from "../application/init-script.ts";
import { BASE64_PROBLEM, decodeBase64Field } from "../base64.ts";
import { type FieldErrors, NOT_ALLOWED } from "../errors.ts";
import { sentFields } from "../input.ts";
import { limitProblems } from "../limits.ts";
import type { DatabaseAccess, DatabaseFields, DatabaseSecrets } from "../ports/database.ts";
import { type DatabaseSettings, databaseDefaults } from "./database.ts";
import { DATABASE_ENGINE_NAMES, type DatabaseEngine, engineFields, type FieldHome, homeOf } from "./database-engine.ts";
import type { DatabaseCreate, DatabaseUpdate } from "./database-input.ts";
import type { EngineField } from "./engine/row.ts";

export interface DatabaseChange {
  readonly settings: Partial<DatabaseSettings>;
  readonly fields: DatabaseFields;
  readonly secrets: DatabaseSecrets;
  /** Environment variables, by key. */
  readonly variables: Readonly<Record<string, string>>;
  /** Problems by field; empty when valid. */
  readonly problems: FieldErrors;
}

type SentFields = Readonly<Record<string, unknown>>;

/**
 * Reads the fields sent for a database of this engine. Null resets a setting to its default and clears a text; names
 * inside the database and passwords cannot be changed by null. Base64 is decoded.
 */
export function databaseChange(engine: DatabaseEngine, sent: DatabaseCreate | DatabaseUpdate): DatabaseChange {
  const settings = sentFields(sent, databaseDefaults(engine));
  const values = engineFields(engine).map(([name, field]) => ({
    name,
    field,
    ...readValue(field, (sent as SentFields)[name]),
  }));
  /** `readValue` returns texts for secrets, so only `fields` can contain null. */
  const kept = (home: FieldHome) =>
    Object.fromEntries(
      values
        .filter(({ field, value }) => homeOf(field) === home && value !== undefined)
        .map(({ name, field, value }) => [field.variable ?? name, value]),
    );
  return {
    settings,
    fields: kept("settings") as DatabaseFields,
    secrets: kept("secrets") as DatabaseSecrets,
    variables: kept("variables") as Record<string, string>,
    problems: {
      ...limitProblems(settings),
      ...Object.fromEntries(values.flatMap(({ name, problems }) => (problems ? [[name, problems]] : []))),
      ...foreignProblems(engine, sent),
    },
  };
}

interface ReadValue {
  /** `undefined`: nothing changes. */
  readonly value?: string | null;
  readonly problems?: readonly string[];
}

function readValue(field: EngineField, sent: unknown): ReadValue {
  const { type, default: byDefault, options = [] } = field;
  switch (type) {
    case "identifier":
    case "password":
      return typeof sent === "string" ? { value: sent } : {};
    case "fixed":
    case "issued":
      return {};
    case "flag":
      if (sent === null) return { value: byDefault };
      return typeof sent === "boolean" ? { value: String(sent) } : {};
    case "choice":
      if (sent === null) return { value: byDefault };
      if (typeof sent !== "string") return {};
      return options.includes(sent) ? { value: sent } : { problems: [`Must be one of ${options.join(", ")}.`] };
    case "scripts":
      return readScripts(field, sent);
    case "text":
    case "configuration":
      return readText(type, sent);
  }
}

function readText(type: "text" | "configuration", sent: unknown): ReadValue {
  if (sent === null) return { value: null };
  if (typeof sent !== "string") return {};
  if (type === "text") return { value: sent };
  const text = decodeBase64Field(sent);
  return text === undefined || text.includes("\0") ? { problems: [BASE64_PROBLEM] } : { value: text };
}

function readScripts(field: EngineField, sent: unknown): ReadValue {
  if (sent === undefined) return {};
  // Already validated; parsed again for its type.
  const scripts = InitScriptsInput.parse(sent ?? []);
  const problems = scriptProblems(field, scripts);
  return problems.length > 0 ? { problems } : { value: keptScripts(scripts) };
}

function foreignProblems(engine: DatabaseEngine, sent: SentFields): FieldErrors {
  const own = new Set(engineFields(engine).map(([name]) => name));
  const foreign = DATABASE_ENGINE_NAMES.flatMap(engineFields)
    .map(([name]) => name)
    .filter((name) => !own.has(name) && sent[name] !== undefined);
  return Object.fromEntries(foreign.map((name) => [name, [NOT_ALLOWED]]));
}

/** Only a database with a port can be made public. */
export function databaseAccess(
  current: DatabaseAccess,
  sent: { readonly is_public?: boolean | undefined; readonly public_port?: number | null | undefined },
): DatabaseAccess {
  const public_port = sent.public_port === undefined ? current.public_port : sent.public_port;
  return { public_port, is_public: (sent.is_public ?? current.is_public) && public_port !== null };
}

/**
 * The fields of a new database: those sent, and defaults for the rest.
 *
 * @param newPassword Returns a random password, for each password that was not sent.
 */
export function newDatabase(
  engine: DatabaseEngine,
  sent: DatabaseCreate,
  newPassword: () => string,
): DatabaseChange & { readonly settings: DatabaseSettings } {
  const change = databaseChange(engine, sent);
  const initial = ({ type, default: byDefault }: EngineField) => {
    if (type === "password") return newPassword();
    return type === "scripts" ? keptScripts([]) : byDefault;
  };
  const complete = <T>(home: FieldHome, known: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      engineFields(engine)
        .filter(([, field]) => homeOf(field) === home)
        .map(([name, field]) => [field.variable ?? name, known[field.variable ?? name] ?? initial(field)]),
    );
  return {
    ...change,
    settings: { ...databaseDefaults(engine), ...change.settings },
    fields: complete("settings", change.fields),
    // Secrets and names are never null: see `readValue` and the defaults of the rows.
    secrets: complete("secrets", change.secrets) as DatabaseSecrets,
    variables: complete("variables", change.variables) as Record<string, string>,
  };
}
