import { z } from "zod";

/**
 * Converts text of a query or path to the type that the schema expects; other text is unchanged, and the schema
 * refuses it.
 */
export type Coerce = (value: unknown) => unknown;

const DECIMAL = /^-?\d+(\.\d+)?$/;
const BOOLEANS: Readonly<Record<string, boolean>> = {
  ...{ 1: true, true: true, on: true, yes: true },
  ...{ 0: false, false: false, off: false, no: false },
};

const toNumber: Coerce = (value) => (typeof value === "string" && DECIMAL.test(value) ? Number(value) : value);
export const toBoolean: Coerce = (value) =>
  typeof value === "string" ? (BOOLEANS[value.toLowerCase()] ?? value) : value;
const toList =
  (element: Coerce): Coerce =>
  (value) =>
    (Array.isArray(value) ? value : [value]).map(element);
const asIs: Coerce = (value) => value;

/** Coercion runs before validation and does not change the schema, which stays strict for JSON bodies. */
export function coercerOf(schema: z.core.$ZodType): Coerce {
  const bare = bareOf(schema);
  if (bare instanceof z.ZodNumber) return toNumber;
  if (bare instanceof z.ZodBoolean) return toBoolean;
  return bare instanceof z.ZodArray ? toList(coercerOf(bare.element)) : asIs;
}

/** Whether a query parameter may be repeated. */
export const isList = (schema: z.core.$ZodType): boolean => bareOf(schema) instanceof z.ZodArray;

/** The schema inside of defaults, `nullable()` and the like. */
function bareOf(schema: z.core.$ZodType): z.core.$ZodType {
  // A preprocessing step has no type; the schema after it does.
  if (schema instanceof z.ZodPipe) return bareOf(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  const isWrapper =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodReadonly ||
    schema instanceof z.ZodCatch;
  return isWrapper ? bareOf(schema.unwrap()) : schema;
}
