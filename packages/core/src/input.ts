import { z } from "zod";

/**
 * The same schema, which also accepts other spellings of clients of this API family: `""` for null, numbers and flags
 * as text, `1` and `0` as flags. The OpenAPI document shows the plain schema.
 */
export function lenient<S extends z.ZodType>(schema: S): S {
  // It only parses more spellings to the same values, so the type of `schema` applies.
  return z.preprocess(reader(schema), schema) as unknown as S;
}

/** An option that may be left out. */
export const flag = (about: string) => lenient(z.boolean()).optional().describe(about);

/** The same schema for a text, which is trimmed first. */
function trimmed<S extends z.ZodType>(schema: S): S {
  // Parses to the same type, like `lenient`.
  return z.preprocess((value) => (typeof value === "string" ? value.trim() : value), schema) as unknown as S;
}

type Read = (value: unknown) => unknown;

function reader(schema: z.ZodType): Read {
  if (schema instanceof z.ZodNullable) {
    const inner = schema.unwrap() as z.ZodType;
    const read = reader(inner);
    return (value) => (value === "" ? null : read(value));
  }
  if (schema instanceof z.ZodNumber) return readNumber;
  if (schema instanceof z.ZodBoolean) return readFlag;
  return (value) => value;
}

const readNumber: Read = (value) =>
  typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;

const readFlag: Read = (value) => {
  if (value === 1 || value === "1") return true;
  if (value === 0 || value === "0") return false;
  return value;
};

type Inner<S> = S extends z.ZodDefault<infer I extends z.ZodType> ? I : S extends z.ZodType ? S : never;

/** The fields of a settings schema as input: each may be left out, and null means the default. */
export type InputShape<Shape extends z.ZodRawShape> = {
  [Key in keyof Shape]: z.ZodOptional<z.ZodNullable<Inner<Shape[Key]>>>;
};

/**
 * @param defaults Values for fields that are not sent, shown in the descriptions.
 * @param isTrimmed Whether a field's text is trimmed. Default: never.
 */
export function inputShape<Shape extends z.ZodRawShape>(
  shape: Shape,
  defaults: Readonly<Record<string, unknown>> = {},
  isTrimmed: (key: string) => boolean = () => false,
): InputShape<Shape> {
  const fields = Object.entries(shape).map(([key, schema]) => {
    // A shape contains only schemas; zod's type is wider.
    const field = schema as z.ZodType;
    const inner = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
    const nullable = inner instanceof z.ZodNullable ? inner : z.nullable(inner);
    const about = [field.description ?? inner.description, defaultText(defaults[key])].filter(Boolean).join(" ");
    const input = (isTrimmed(key) ? trimmed(lenient(nullable)) : lenient(nullable)).optional();
    return [key, about === "" ? input : input.describe(about)];
  });
  // Has the keys of `shape`, as the type says.
  return Object.fromEntries(fields) as InputShape<Shape>;
}

// Schemas that read several spellings lose JSON Schema's own keyword for defaults, so the description shows them.
const defaultText = (value: unknown): string =>
  value === undefined || value === null || value === "" ? "" : `Default \`${String(value)}\`.`;

/** The fields of `defaults` that were sent; null means the default. */
export function sentFields<T extends object>(sent: object, defaults: T): Partial<T> {
  const fields = Object.entries(sent)
    .filter(([key, value]) => key in defaults && value !== undefined)
    // The filter leaves only keys of `defaults`.
    .map(([key, value]) => [key, value ?? defaults[key as keyof T]]);
  // `sent` was parsed by a schema that gives these keys the types they have in T.
  return Object.fromEntries(fields) as Partial<T>;
}
