import { z } from "zod";
import { DatabaseSettings, databaseDefaults } from "./database.ts";
import type { EngineField } from "./database-engine/row.ts";
import { DATABASE_ENGINE_NAMES, type DatabaseEngine, engineFields, type SettableFieldName } from "./database-engine.ts";
import { inputShape, lenient } from "./input.ts";
import { ResourceDescription, ResourceName } from "./name.ts";
import { PLACE_INPUT } from "./place-input.ts";

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const IDENTIFIER_PROBLEM = "At most 63 letters, digits and _, beginning with no digit.";
const PASSWORD = /^[A-Za-z0-9!@#%^*()_+\-=[\]{}:,.?/~]+$/;
const PASSWORD_PROBLEM = "Only letters, digits and ! @ # % ^ * ( ) _ + - = [ ] { } : , . ? / ~ are allowed.";
const PORT_PROBLEM = "Must be a port from 1024 to 65535.";

/** What a caller may send for a field of an engine, by its type; of `fixed` nothing. */
const FIELD_INPUTS = {
  identifier: z.string().regex(IDENTIFIER, IDENTIFIER_PROBLEM),
  password: z.string().max(128, "At most 128 characters.").regex(PASSWORD, PASSWORD_PROBLEM),
  text: z.string().max(1000, "At most 1000 characters."),
  configuration: z.string().max(262_144, "At most 262144 characters."),
} as const satisfies Record<Exclude<EngineField["type"], "fixed">, z.ZodString>;

/** What is used for a field that is not sent. */
const defaultOf = ({ type, default: byDefault }: EngineField): string => {
  if (type === "password") return "Default: 64 random letters and digits.";
  return byDefault === null ? "" : `Default \`${byDefault}\`.`;
};

type FieldsInput<E extends DatabaseEngine> = {
  [Name in SettableFieldName<E>]: z.ZodOptional<z.ZodNullable<z.ZodString>>;
};

/** @param isNew Tells the defaults too. */
function fieldsInput<E extends DatabaseEngine>(engine: E, { isNew }: { isNew: boolean }): FieldsInput<E> {
  const inputs = engineFields(engine).flatMap(([name, field]) => {
    if (field.type === "fixed") return [];
    const about = [field.about, isNew ? defaultOf(field) : ""].filter(Boolean).join(" ");
    return [[name, lenient(FIELD_INPUTS[field.type].nullable()).optional().describe(about)]];
  });
  // One for each field that is not `fixed`, as the type says.
  return Object.fromEntries(inputs) as FieldsInput<E>;
}

const flag = (about: string) => lenient(z.boolean()).optional().describe(about);

const COMMON = {
  description: ResourceDescription.optional().describe("For people."),
  is_public: flag("Reachable from outside its server at public_port; without that port it is not. Default false."),
  public_port: lenient(z.int().min(1024, PORT_PROBLEM).max(65_535, PORT_PROBLEM).nullable())
    .optional()
    .describe("Port of the server, 1024 to 65535, that no other public database there uses."),
};

const databaseCreate = <E extends DatabaseEngine>(engine: E) =>
  z.strictObject({
    ...PLACE_INPUT,
    ...COMMON,
    name: ResourceName.optional().describe("Default: made from its engine."),
    instant_deploy: flag("Start it at once. When its server runs no databases, nothing is created."),
    ...inputShape(DatabaseSettings.shape, databaseDefaults(engine)),
    ...fieldsInput(engine, { isNew: true }),
  });

type DatabaseCreates = { readonly [E in DatabaseEngine]: ReturnType<typeof databaseCreate<E>> };

/** What a creation takes, by engine. */
export const DATABASE_CREATES = Object.fromEntries(
  DATABASE_ENGINE_NAMES.map((engine) => [engine, databaseCreate(engine)]),
  // One for each engine, as the type says; `map` gives all of them one type.
) as unknown as DatabaseCreates;

type SentFields = { readonly [Name in SettableFieldName]?: string | null | undefined };

/** A new database of any engine. */
export type DatabaseCreate = Omit<z.infer<DatabaseCreates["dragonfly"]>, SettableFieldName> & SentFields;

const ALL_FIELDS = Object.assign(
  {},
  ...DATABASE_ENGINE_NAMES.map((engine) => fieldsInput(engine, { isNew: false })),
  // The fields of all engines, whose names differ.
) as FieldsInput<DatabaseEngine>;

/** Of one engine's own fields, a database takes those of its own only: see `databaseChange`. */
export const DatabaseUpdate = z.strictObject({
  ...COMMON,
  name: ResourceName.nullable().optional().describe("Null keeps the name."),
  instant_deploy: flag("Accepted and ignored: changes hold from the next start on."),
  ...inputShape(DatabaseSettings.shape),
  ...ALL_FIELDS,
});
export type DatabaseUpdate = z.infer<typeof DatabaseUpdate>;
