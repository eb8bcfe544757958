import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";

/** A command-line flag, made from a field of a schema. */
export interface Flag {
  /** Name of the schema's field, such as `build_command`. */
  readonly key: string;
  /** Name without dashes, e.g. `build-command`. */
  readonly name: string;
  readonly type: "text" | "number" | "integer" | "switch" | "list" | "json";
  readonly isRequired: boolean;
  /** Whether an empty text means null, which restores the default. */
  readonly isNullable: boolean;
  readonly help: string;
  readonly choices?: readonly string[];
  /** A list of words without commas, which may be given separated by commas. */
  readonly isListOfWords?: true;
}

/** `build_command` and `buildCommand` → `build-command`. */
export const flagName = (key: string): string =>
  key.replaceAll("_", "-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Command-line flags for the fields of a schema, in order. */
export function flagsFor(schema: z.ZodObject): readonly Flag[] {
  const { properties = {}, required = [] } = schema.toJSONSchema({ io: "input", unrepresentable: "any" });
  return Object.entries(properties).map(([key, property]) => flagOf(key, property, required.includes(key)));
}

/** @param property JSON Schema of the field. */
export function flagOf(key: string, property: unknown, isRequired: boolean): Flag {
  const field = described(property);
  const choices = field.enum?.filter((choice) => typeof choice === "string");
  return {
    key,
    name: flagName(key),
    type: typeOf(field),
    isRequired,
    isNullable: isNullable(property),
    help: [helpOf(field), wordsOf(field)].filter((part) => part !== "").join(" "),
    ...(choices && choices.length > 0 ? { choices } : {}),
    ...(field.items?.enum ? { isListOfWords: true } : {}),
  };
}

interface Field {
  readonly type?: string | readonly string[] | undefined;
  readonly enum?: readonly unknown[] | undefined;
  readonly description?: string | undefined;
  readonly default?: unknown;
  readonly items?: Field | undefined;
  readonly anyOf?: readonly Field[] | undefined;
}

/** A nullable field is a union with null: its description combines the field's own and the union's. */
function described(property: unknown): Field {
  // Schemas made by zod are never booleans, and all other schemas have these optional keys.
  const field = property as Field;
  const inner = field.anyOf?.find(({ type }) => type !== "null");
  if (!inner) return field;
  return { ...described(inner), ...Object.fromEntries(Object.entries(field).filter(([key]) => key !== "anyOf")) };
}

function isNullable(property: unknown): boolean {
  const { type, anyOf = [] } = property as Field; // The same as in `described`.
  return [type].flat().includes("null") || anyOf.some((each) => each.type === "null");
}

function typeOf({ type, items }: Field): Flag["type"] {
  switch ([type].flat().find((each) => each !== "null")) {
    case "boolean":
      return "switch";
    case "integer":
      return "integer";
    case "number":
      return "number";
    case "array":
      return items?.type === "string" ? "list" : "json";
    case "object":
      return "json";
    default:
      return "text";
  }
}

function helpOf({ description = "", default: preset }: Field): string {
  if (preset === undefined || preset === null || preset === "" || /\bdefault\b/i.test(description)) return description;
  const shown = `Default ${typeof preset === "object" ? JSON.stringify(preset) : preset}.`;
  return description === "" ? shown : `${description} ${shown}`;
}

/** What a list may contain. */
function wordsOf({ items }: Field): string {
  const words = (items?.enum ?? []).filter((word) => typeof word === "string");
  return words.length === 0 ? "" : `One or several, separated by commas, of: ${words.join(", ")}.`;
}

/** Adds the flags to a command, under a heading of its help. */
export function addFlags(command: Command, flags: readonly Flag[], heading: string): void {
  for (const flag of flags) for (const option of optionsOf(flag)) command.addOption(option.helpGroup(heading));
}

function optionsOf(flag: Flag): readonly Option[] {
  const { name, type, help, choices, isNullable } = flag;
  if (type === "switch") {
    const positive = new Option(`--${name}`, help);
    // Only shown in the help: parsing already uses the two flags.
    positive.flags = `--[no-]${name}`;
    return [positive, new Option(`--no-${name}`).hideHelp()];
  }
  const option = new Option(`--${name} <${VALUE_NAMES[type]}>`, help);
  if (!choices) return [option.argParser((text: string, previous: unknown) => parse(flag, text, previous))];
  option.choices([...choices]);
  const { parseArg } = option;
  return [option.argParser((text, previous) => (text === "" && isNullable ? NULL : parseArg?.(text, previous)))];
}

/** Represents null inside commander, which treats null as a missing value. */
const NULL = Symbol("null");

const VALUE_NAMES: Readonly<Record<Exclude<Flag["type"], "switch">, string>> = {
  text: "text",
  integer: "number",
  number: "number",
  list: "text",
  json: "json",
};

/** Paths inside of a source. People write them as they see them there; the API wants the slash. */
const FROM_THE_ROOT: ReadonlySet<string> = new Set([
  "base_directory",
  "publish_directory",
  "dockerfile_location",
  "docker_compose_location",
]);

function parse({ key, type, isNullable, isListOfWords }: Flag, text: string, previous: unknown): unknown {
  if (text === "" && isNullable) return NULL;
  switch (type) {
    case "integer":
      if (/^-?\d{1,15}$/.test(text)) return Number(text);
      throw new InvalidArgumentError("It takes a whole number.");
    case "number":
      if (/^-?\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
      throw new InvalidArgumentError("It takes a number.");
    case "list":
      return [...(Array.isArray(previous) ? previous : []), ...(isListOfWords ? text.split(",") : [text])];
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new InvalidArgumentError("It takes JSON.");
      }
    default:
      return FROM_THE_ROOT.has(key) && /^[^/]/.test(text) ? `/${text.replace(/^\.(\/|$)/, "")}` : text;
  }
}

/** The given fields, by their names in the schema. */
export function valuesOf(flags: readonly Flag[], options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const given = flags.flatMap(({ key, name }): [string, unknown][] => {
    const value = options[new Option(`--${name}`).attributeName()];
    return value === undefined ? [] : [[key, value === NULL ? null : value]];
  });
  return Object.fromEntries(given);
}

/** The words of an option that can be repeated. */
export const collected = (text: string, previous: readonly string[] = []): readonly string[] => [...previous, text];
