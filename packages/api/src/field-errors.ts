import { type FieldErrors, NOT_ALLOWED } from "@berth/core";
import type { ZodError } from "zod";

type Issue = ZodError["issues"][number];

/**
 * Problems of a schema by field: dotted names for nested fields, `_` for the whole body.
 *
 * @param input The parsed input, to distinguish missing from invalid fields.
 */
export function fieldErrors({ issues }: ZodError, input: unknown): FieldErrors {
  const fields = new Map<string, Set<string>>();
  const add = (path: readonly PropertyKey[], text: string) => {
    const name = path.map(String).join(".") || "_";
    fields.set(name, (fields.get(name) ?? new Set()).add(text));
  };
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") for (const key of issue.keys) add([...issue.path, key], NOT_ALLOWED);
    else add(issue.path, isMissing(issue, input) ? REQUIRED : textOf(issue));
  }
  return Object.fromEntries([...fields].map(([name, texts]) => [name, [...texts]]));
}

/** Limits the number and length of problems, so that the answer does not grow with the input. */
export function boundedErrors(fields: FieldErrors): FieldErrors {
  const all = Object.entries(fields);
  const isUnknown = ([, texts]: (typeof all)[number]) => texts.length === 1 && texts[0] === NOT_ALLOWED;
  const unknown = all.filter(isUnknown).slice(0, UNKNOWN_SHOWN_MAX);
  const wrong = all.filter((field) => !isUnknown(field)).slice(0, WRONG_SHOWN_MAX);
  const shown = [...wrong, ...unknown].map(([name, texts]) => [shortened(name), texts.slice(0, TEXTS_SHOWN_MAX)]);
  const left = all.length - shown.length;
  if (left === 0) return Object.fromEntries(shown);
  const more = `${left} more fields are wrong or not allowed.`;
  return { ...Object.fromEntries(shown), _: [...(fields._ ?? []).slice(0, TEXTS_SHOWN_MAX), more] };
}

const UNKNOWN_SHOWN_MAX = 20;
const WRONG_SHOWN_MAX = 100;
const TEXTS_SHOWN_MAX = 20;
const NAME_LENGTH_MAX = 200;

const shortened = (name: string) => (name.length > NAME_LENGTH_MAX ? `${name.slice(0, NAME_LENGTH_MAX)}...` : name);

export const REQUIRED = "This field is required.";

function isMissing({ code, path }: Issue, input: unknown): boolean {
  if (path.length === 0 || !["invalid_type", "invalid_value", "invalid_union"].includes(code)) return false;
  const value = path.reduce<unknown>(
    // Indexing is safe on any object, and other values have no such field.
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    input,
  );
  return value === undefined;
}

/** Messages of a schema itself are kept; zod's own are reworded for users. */
function textOf(issue: Issue): string {
  if (!ZOD_TEXT.test(issue.message)) return issue.message;
  switch (issue.code) {
    case "invalid_type":
      return `Must be ${TYPES[issue.expected] ?? issue.expected}.`;
    case "invalid_value":
      return issue.values.length === 1
        ? `Must be ${String(issue.values[0])}.`
        : `Must be one of: ${issue.values.map(String).join(", ")}.`;
    case "too_small":
      return `Must ${limit("least", issue.origin, issue.minimum, issue.inclusive)}.`;
    case "too_big":
      return `Must ${limit("most", issue.origin, issue.maximum, issue.inclusive)}.`;
    case "invalid_union":
      return "Does not have any of the allowed forms.";
    case "invalid_format":
      return issue.format === "regex"
        ? "Has characters or a form that is not allowed."
        : `Must be a valid ${issue.format}.`;
    case "invalid_key": {
      const [reason] = issue.issues;
      return reason === undefined ? "The name is not allowed." : `Its name: ${textOf(reason as Issue)}`;
    }
    default:
      return issue.message;
  }
}

function limit(side: "least" | "most", origin: string, bound: number | bigint, isInclusive = true): string {
  if (origin === "string") return `have at ${side} ${bound} characters`;
  if (origin === "array" || origin === "set") return `have at ${side} ${bound} entries`;
  if (isInclusive) return `be at ${side} ${bound}`;
  return `be ${side === "least" ? "greater" : "less"} than ${bound}`;
}

/** Unlike Berth's messages, zod's own do not end with a full stop. */
const ZOD_TEXT = /^(Invalid|Too (small|big)).*[^.]$/s;
const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};
