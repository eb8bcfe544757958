import type { ZodType } from "zod";
import { sizeOf } from "./rest/long-list.ts";

export interface CheckedOutput {
  readonly data: unknown;
  /** Approximate length of its JSON. */
  readonly size: number;
}

/**
 * Checks an answer against its schema as zod does, in code that is compiled at the first answer: zod makes two objects
 * for every field of every object. The result has what the schema names, in its order, without anything else. Keys that
 * are optional and absent are `undefined`, which JSON leaves out.
 *
 * What the compiled code refuses or does not know is left to zod, whose values and errors are therefore the result.
 */
export function compiledOutput(schema: ZodType): (value: unknown) => CheckedOutput {
  const parse = schema.parse.bind(schema);
  let check: ((value: unknown) => CheckedOutput) | undefined;
  return (value) => {
    check ??= compiled(schema);
    try {
      return check(value);
    } catch {
      const data = parse(value);
      return { data, size: sizeOf(data) };
    }
  };
}

function compiled(schema: ZodType): (value: unknown) => CheckedOutput {
  const code = new Code();
  const data = code.checked(schema, "value");
  const body = `"use strict"; return (value) => { let size = 0; ${code.lines.join("\n")} return { data: ${data}, size }; };`;
  // The text has only names of its own, and keys and values as JSON.
  return new Function("ask", "sizeOf", body)((at: number, value: unknown) => askZod(code.others[at], value), sizeOf);
}

/** Throws where the answer is for zod to refuse. */
function askZod(schema: ZodType | undefined, value: unknown): unknown {
  const result = schema?.safeParse(value);
  if (!result?.success) throw REFUSED;
  return result.data;
}

const REFUSED = new Error("The answer is not as its schema says.");

const VALUE_CHARACTERS = 3; // Most are numbers, flags, quotes around a text, or brackets.

/** The parts of zod's definitions that are compiled. */
interface Definition {
  readonly type: string;
  readonly checks?: readonly unknown[] | undefined;
  readonly format?: string | undefined;
  readonly coerce?: boolean | undefined;
  readonly catchall?: unknown;
  readonly innerType?: ZodType;
  readonly element?: ZodType;
  readonly shape?: Readonly<Record<string, ZodType>>;
  readonly entries?: Readonly<Record<string, string | number>>;
  readonly values?: readonly unknown[];
}

class Code {
  readonly lines: string[] = [];
  /** Schemas that zod checks. */
  readonly others: ZodType[] = [];
  private variables = 0;

  /** Adds the lines that check the value in `from`. Returns the expression of the result. */
  checked(schema: ZodType, from: string): string {
    // The public property has the same object, typed for each kind of schema.
    const definition = schema._zod.def as unknown as Definition;
    if ((definition.checks ?? []).length > 0 || definition.coerce === true) return this.zods(schema, from);
    switch (definition.type) {
      case "string":
        return definition.format === undefined ? this.text(from) : this.zods(schema, from);
      case "number":
        if (definition.format === undefined) return this.must(`Number.isFinite(${from})`, from);
        return definition.format === "safeint"
          ? this.must(`Number.isSafeInteger(${from})`, from)
          : this.zods(schema, from);
      case "boolean":
        return this.must(`typeof ${from} === "boolean"`, from);
      case "null":
        return this.must(`${from} === null`, from);
      case "unknown":
        return from;
      case "enum":
        return this.oneOf(Object.values(definition.entries ?? {}), schema, from);
      case "literal":
        return this.oneOf(definition.values ?? [], schema, from);
      case "nullable":
        return this.unless("null", definition.innerType, from);
      case "optional":
        // What it wraps has a value of its own for an absent one, such as a default.
        if (definition.innerType?._zod.optin !== undefined) return this.zods(schema, from);
        return this.unless("undefined", definition.innerType, from);
      case "array":
        return this.array(definition.element, from);
      case "object":
        return this.object(definition, schema, from);
      default:
        return this.zods(schema, from);
    }
  }

  private must(condition: string, from: string): string {
    this.lines.push(`if (!(${condition})) throw 0;`);
    return from;
  }

  private text(from: string): string {
    this.must(`typeof ${from} === "string"`, from);
    this.lines.push(`size += ${from}.length;`);
    return from;
  }

  private zods(schema: ZodType, from: string): string {
    const result = this.set(`ask(${this.others.push(schema) - 1}, ${from})`);
    this.lines.push(`size += sizeOf(${result});`);
    return result;
  }

  private oneOf(values: readonly unknown[], schema: ZodType, from: string): string {
    if (!values.every((value) => typeof value === "string" || typeof value === "boolean"))
      return this.zods(schema, from);
    return this.must(values.map((value) => `${from} === ${JSON.stringify(value)}`).join(" || ") || "false", from);
  }

  private unless(empty: "null" | "undefined", inner: ZodType | undefined, from: string): string {
    if (inner === undefined) throw new Error("A schema without what it wraps.");
    const result = this.set(empty);
    this.lines.push(`if (${from} !== ${empty}) {`);
    this.lines.push(`${result} = ${this.checked(inner, from)}; }`);
    return result;
  }

  private array(element: ZodType | undefined, from: string): string {
    if (element === undefined) throw new Error("A schema of an array without one of its elements.");
    this.must(`Array.isArray(${from})`, from);
    const result = this.set("[]");
    const index = this.set("0");
    this.lines.push(`for (; ${index} < ${from}.length; ${index} += 1) {`);
    const item = this.set(`${from}[${index}]`);
    this.lines.push(`size += ${VALUE_CHARACTERS};`);
    this.lines.push(`${result}.push(${this.checked(element, item)}); }`);
    return result;
  }

  private object({ shape = {}, catchall }: Definition, schema: ZodType, from: string): string {
    if (catchall !== undefined || Object.hasOwn(shape, "__proto__")) return this.zods(schema, from);
    this.must(`typeof ${from} === "object" && ${from} !== null && !Array.isArray(${from})`, from);
    const keys = Object.keys(shape).reduce((sum, name) => sum + name.length + 4 + VALUE_CHARACTERS, 0);
    this.lines.push(`size += ${keys};`);
    const fields = Object.entries(shape).map(([name, inner]) => {
      const key = JSON.stringify(name);
      const value = this.set(`${from}[${key}]`);
      // What accepts any value still wants one.
      if (inner._zod.optin === undefined) this.must(`${value} !== undefined || ${key} in ${from}`, from);
      return `${key}: ${this.checked(inner, value)}`;
    });
    return this.set(`{ ${fields.join(", ")} }`);
  }

  private set(expression: string): string {
    this.variables += 1;
    this.lines.push(`let v${this.variables} = ${expression};`);
    return `v${this.variables}`;
  }
}
