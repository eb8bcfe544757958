import { z } from "zod";

/**
 * The schema itself, reading also what clients of this API family send for the same value: `""` for null, numbers and
 * flags as text, `1` and `0` as flags. The description shows the plain schema.
 */
export function lenient<S extends z.ZodType>(schema: S): S {
  // Parses to the same values from more spellings, so code that relies on the type of `schema` may rely on this.
  return z.preprocess(reader(schema), schema) as unknown as S;
}

/** The schema itself, of a text without the blanks around it. */
function trimmed<S extends z.ZodType>(schema: S): S {
  // Parses to the same type, as `lenient` does.
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

/** The fields of a settings schema as a caller may send them: each may be left out, and null asks for the default. */
export type InputShape<Shape extends z.ZodRawShape> = {
  [Key in keyof Shape]: z.ZodOptional<z.ZodNullable<Inner<Shape[Key]>>>;
};

/**
 * @param defaults Told in the description: what is used for a field that is not sent.
 * @param isTrimmed Whether blanks around a field's text are dropped. By default they stay.
 */
export function inputShape<Shape extends z.ZodRawShape>(
  shape: Shape,
  defaults: Readonly<Record<string, unknown>> = {},
  isTrimmed: (key: string) => boolean = () => false,
): InputShape<Shape> {
  const fields = Object.entries(shape).map(([key, schema]) => {
    // A shape holds schemas only; zod's own type says less.
    const field = schema as z.ZodType;
    const inner = field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : field;
    const nullable = inner instanceof z.ZodNullable ? inner : z.nullable(inner);
    const about = [field.description ?? inner.description, defaultText(defaults[key])].filter(Boolean).join(" ");
    const input = (isTrimmed(key) ? trimmed(lenient(nullable)) : lenient(nullable)).optional();
    return [key, about === "" ? input : input.describe(about)];
  });
  // Built key by key from `shape`, as the type says.
  return Object.fromEntries(fields) as InputShape<Shape>;
}

// JSON Schema's own keyword is lost where a schema reads several spellings.
const defaultText = (value: unknown): string =>
  value === undefined || value === null || value === "" ? "" : `Default \`${String(value)}\`.`;

/** The fields of `defaults` that were sent; null asks for the default. */
export function sentFields<T extends object>(sent: object, defaults: T): Partial<T> {
  const fields = Object.entries(sent)
    .filter(([key, value]) => key in defaults && value !== undefined)
    // The key is one of `defaults`, as the filter says.
    .map(([key, value]) => [key, value ?? defaults[key as keyof T]]);
  // The schema that read `sent` gives these keys the types they have in T.
  return Object.fromEntries(fields) as Partial<T>;
}
