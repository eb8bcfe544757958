import { z } from "zod";
import { labelOf } from "./units.ts";

/** Input of a schema's field. */
export interface Field {
  readonly name: string;
  readonly type: "text" | "long" | "secret" | "number" | "flag" | "choice" | "list" | "other";
  readonly about: string;
  readonly options: readonly string[];
  readonly isNullable: boolean;
  readonly isRequired: boolean;
}

/** Choices that are not in the schema, but come from the team's data. */
export type Choices = Readonly<Record<string, readonly { readonly value: string; readonly label: string }[]>>;

/** What applies while a field is empty, by name. */
export type Placeholders = Readonly<Record<string, string>>;

/** Placeholder of a stored secret, which a form never shows. */
export const STORED = "Stored. Enter another to replace it.";

const SECRET =
  /(password|secret|_secret_[a-z]+|private_key|^token|^telegram_token|_license_key|_api_key|_api_token|_user_key)$/;
/** Longer texts get a text area. */
const LINE_LENGTH_MAX = 2048;
const LONG = /^(content|private_key|dockerfile|init_scripts)$|_conf$|_configuration$|_labels$|_script$/;

/** Derives a form field from the schema, which remains the only place for rules. */
export function fieldOf(name: string, schema: z.ZodType): Field {
  let inner: unknown = schema;
  let about = schema.description ?? "";
  let isNullable = false;
  let isRequired = true;
  for (;;) {
    if (inner instanceof z.ZodType) about ||= inner.description ?? "";
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) {
      isRequired = false;
      inner = inner.unwrap();
    } else if (inner instanceof z.ZodNullable) {
      isNullable = true;
      inner = inner.unwrap();
    } else if (inner instanceof z.ZodPipe) {
      inner = inner.def.in instanceof z.ZodTransform ? inner.def.out : inner.def.in;
    } else break;
  }
  const options = inner instanceof z.ZodEnum ? inner.options.map(String) : [];
  const type = typeOf(name, inner);
  // Programs send an array.
  const help = type === "list" ? `${helpOf(about)} Separate them by commas.`.trim() : helpOf(about);
  return { name, type, about: help, options, isNullable, isRequired };
}

/** The description without the parts for programs, and with the fields' labels instead of their names. */
export const helpOf = (description: string): string =>
  description
    .replace(/(^| )(Null|Answers have|Default `?(true|false)\b)[^.]*\./g, "")
    .replace(/; null: [^.]*/g, "")
    .replace(/(: plain (?:text|YAML))?, or base64 of it/g, "")
    .replace(
      /`([a-z0-9]+(?:_[a-z0-9]+)+)`/g,
      (_all, name: string) => `“${labelOf(name.replace(/_uuid$|^logdrain_[a-z]+_/g, ""))}”`,
    )
    .replaceAll("`", "")
    .trim();

function typeOf(name: string, schema: unknown): Field["type"] {
  if (schema instanceof z.ZodBoolean) return "flag";
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodEnum) return "choice";
  if (schema instanceof z.ZodArray && schema.element instanceof z.ZodString) return "list";
  if (!(schema instanceof z.ZodString)) return "other";
  if (SECRET.test(name) && !LONG.test(name)) return "secret";
  return LONG.test(name) || (schema.maxLength ?? 0) > LINE_LENGTH_MAX ? "long" : "text";
}

export const isSecretName = (name: string): boolean => SECRET.test(name) || name === "value";

/** A value as it is entered; the texts of a list have commas between them. */
export const enteredText = (value: unknown): string => {
  if (Array.isArray(value)) return value.join(", ");
  return value === null || value === undefined ? "" : String(value);
};

/** Value to send for an entered one. */
export function sentValue(field: Field, value: unknown): unknown {
  if (field.type === "list" && typeof value === "string") {
    const texts = value.split(/[\s,]+/).filter((text) => text !== "");
    return texts.length === 0 && field.isNullable ? null : texts;
  }
  if (value === "" || value === undefined) return field.isNullable ? null : undefined;
  // A number that is chosen from a list comes as a text.
  if (field.type === "number" && typeof value === "string") return Number(value);
  return value;
}

/** Fields with changed values. */
export function changedFields(
  fields: readonly Field[],
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const changed = fields.filter(({ name, type }) => {
    const [entered, shown] = [now[name] ?? "", before[name] ?? ""];
    return type === "list" ? enteredText(entered) !== enteredText(shown) : entered !== shown;
  });
  return Object.fromEntries(changed.map((field) => [field.name, sentValue(field, now[field.name])]));
}
