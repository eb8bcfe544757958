import { z } from "zod";
import { InitScriptsInput } from "../application/init-script.ts";
import { flag, inputShape, lenient } from "../input.ts";
import { ResourceDescription, ResourceName } from "../name.ts";
import { PLACE_INPUT } from "../server/place-input.ts";
import { DatabaseSettings, databaseDefaults } from "./database.ts";
import {
  DATABASE_ENGINE_NAMES,
  type DATABASE_ENGINES,
  type DatabaseEngine,
  engineFields,
  type SettableFieldName,
} from "./database-engine.ts";
import type { EngineField } from "./engine/row.ts";

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/;
const IDENTIFIER_PROBLEM = "At most 63 letters, digits and _, not beginning with a digit.";
const PASSWORD = /^[A-Za-z0-9!@#%^*()_+\-=[\]{}:,.?/~]+$/;
const PASSWORD_PROBLEM = "Only letters, digits and ! @ # % ^ * ( ) _ + - = [ ] { } : , . ? / ~ are allowed.";
const PORT_PROBLEM = "Must be a port from 1024 to 65535.";

/** Input schemas by type of field. Fields of the types `fixed` and `issued` cannot be sent. */
const FIELD_INPUTS = {
  identifier: z.string().regex(IDENTIFIER, IDENTIFIER_PROBLEM).nullable(),
  password: z.string().max(128, "At most 128 characters.").regex(PASSWORD, PASSWORD_PROBLEM).nullable(),
  text: z.string().max(1000, "At most 1000 characters.").nullable(),
  configuration: z.string().max(262_144, "At most 262144 characters.").nullable(),
  flag: z.boolean().nullable(),
  // `databaseChange` knows the engine and checks the choice.
  choice: z.string().max(100, "At most 100 characters.").nullable(),
  scripts: InitScriptsInput.nullable(),
} as const satisfies Record<Exclude<EngineField["type"], "fixed" | "issued">, z.ZodType>;

/** The default of a field. */
const defaultOf = ({ type, default: byDefault }: EngineField): string => {
  if (type === "password") return "Default: 64 random letters and digits.";
  return byDefault === null ? "" : `Default \`${byDefault}\`.`;
};

const optionsOf = ({ type, options = [] }: EngineField): string =>
  type === "choice" ? `One of ${options.map((option) => `\`${option}\``).join(", ")}.` : "";

type FieldInput<Field> = Field extends { readonly type: infer Type extends keyof typeof FIELD_INPUTS }
  ? z.ZodOptional<(typeof FIELD_INPUTS)[Type]>
  : never;

/** By name; engines that share a field name share its type. */
type FieldsInput<E extends DatabaseEngine> = {
  [Name in SettableFieldName<E>]: FieldInput<FieldNamed<E, Name>>;
};
type FieldNamed<E extends DatabaseEngine, Name> = {
  [Engine in E]: Name extends keyof Fields<Engine> ? Fields<Engine>[Name] : never;
}[E];
type Fields<E extends DatabaseEngine> = (typeof DATABASE_ENGINES)[E]["fields"];

/** @param isNew Adds the defaults to the descriptions. */
function fieldsInput<E extends DatabaseEngine>(engine: E, { isNew }: { isNew: boolean }): FieldsInput<E> {
  const inputs = engineFields(engine).flatMap(([name, field]) => {
    if (field.type === "fixed" || field.type === "issued") return [];
    const about = [field.about, ...(isNew ? [optionsOf(field), defaultOf(field)] : [])].filter(Boolean).join(" ");
    return [[name, lenient(FIELD_INPUTS[field.type]).optional().describe(about)]];
  });
  // Has one input for each settable field, as the type says.
  return Object.fromEntries(inputs) as FieldsInput<E>;
}

const COMMON = {
  description: ResourceDescription.optional().describe("Free text, shown to the team."),
  is_public: flag("Reachable from outside its server at public_port, which must be set too. Default false."),
  public_port: lenient(z.int().min(1024, PORT_PROBLEM).max(65_535, PORT_PROBLEM).nullable())
    .optional()
    .describe("Port of the server, 1024 to 65535, that no other public database there uses."),
};

const databaseCreate = <E extends DatabaseEngine>(engine: E) =>
  z.strictObject({
    ...PLACE_INPUT,
    ...COMMON,
    name: ResourceName.optional().describe("Default: generated from its engine."),
    instant_deploy: flag("Start it at once. If its server cannot run databases, nothing is created."),
    ...inputShape(DatabaseSettings.shape, databaseDefaults(engine)),
    ...fieldsInput(engine, { isNew: true }),
  });

type DatabaseCreates = { readonly [E in DatabaseEngine]: ReturnType<typeof databaseCreate<E>> };

/** Input schemas of creations, by engine. */
export const DATABASE_CREATES = Object.fromEntries(
  DATABASE_ENGINE_NAMES.map((engine) => [engine, databaseCreate(engine)]),
  // Has one entry for each engine, as the type says; `map` returns one common type.
) as unknown as DatabaseCreates;

type SentFields = { readonly [Name in SettableFieldName]?: z.infer<FieldsInput<DatabaseEngine>[Name]> };

/** A new database of any engine. */
export type DatabaseCreate = Omit<z.infer<DatabaseCreates["dragonfly"]>, SettableFieldName> & SentFields;

const ALL_FIELDS = Object.assign(
  {},
  ...DATABASE_ENGINE_NAMES.map((engine) => fieldsInput(engine, { isNew: false })),
  // Fields with the same name accept the same values in all engines.
) as FieldsInput<DatabaseEngine>;

/** Accepts the fields of all engines; `databaseChange` refuses those of another engine. */
export const DatabaseUpdate = z.strictObject({
  ...COMMON,
  name: ResourceName.nullable().optional().describe("Null keeps the name."),
  instant_deploy: flag("Accepted and ignored: changes apply from the next start on."),
  ...inputShape(DatabaseSettings.shape),
  ...ALL_FIELDS,
});
export type DatabaseUpdate = z.infer<typeof DatabaseUpdate>;
