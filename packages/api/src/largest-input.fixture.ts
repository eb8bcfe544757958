import { z } from "zod";
import type { ApiOperation } from "./rest/routes.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What is read of a JSON schema. */
interface Described {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: Described;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly additionalProperties?: Described | boolean;
  readonly anyOf?: readonly Described[];
  readonly oneOf?: readonly Described[];
}

/**
 * The largest input of at most `room` characters that the schema of an operation allows: every field that it has, each
 * as long as its rules and its share of the room allow. A field whose values follow a pattern is the example's.
 */
export function largestInput({ input }: ApiOperation, example: Fields, room: number, keys: readonly string[]): Fields {
  let built: Fields = example;
  let left = room - length(example);
  for (const [at, key] of keys.entries()) {
    const schema = input?.shape[key] as z.ZodType | undefined;
    if (schema === undefined) continue;
    const share = Math.max(0, Math.floor(left / (keys.length - at)));
    const value = largestValue(schema, example[key], share);
    const isFitting = value !== undefined && isAllowed(input, { ...built, [key]: value }, { ...built });
    if (!isFitting) continue;
    left -= length(value) - length(example[key] ?? "");
    built = { ...built, [key]: value };
  }
  return built;
}

/** Rules between fields refuse some combinations. An example that is refused itself only says what the fields are. */
function isAllowed(input: z.ZodType | undefined, larger: Fields, before: Fields): boolean {
  return input === undefined || input.safeParse(larger).success || !input.safeParse(before).success;
}

/** The largest of the candidates that the schema accepts; `undefined` when it accepts none. */
function largestValue(schema: z.ZodType, example: unknown, room: number): unknown {
  const described = z.toJSONSchema(schema, TOLERANT) as Described;
  const candidates = [...padded(described, example, room), repeated(described, example, room), made(described, room)];
  return candidates
    .filter((candidate) => candidate !== undefined && schema.safeParse(candidate).success)
    .sort((a, b) => length(b) - length(a))[0];
}

/** Texts with a grammar, such as compose files and URLs, stay valid with a comment or a longer path. */
function padded({ maxLength }: Described, example: unknown, room: number): readonly unknown[] {
  if (typeof example !== "string") return [];
  const size = Math.min(maxLength ?? room, room) - example.length - 3;
  return size > 0 ? ["\n# ", "/", ""].map((joint) => example + joint + "x".repeat(size)) : [];
}

function repeated({ maxItems }: Described, example: unknown, room: number): unknown {
  if (!Array.isArray(example)) return undefined;
  const count = Math.min(maxItems ?? Number.POSITIVE_INFINITY, Math.floor(room / (length(example[0]) + 1)));
  return Array.from({ length: count }, () => example[0]);
}

function made(described: Described, room: number): unknown {
  const { type, items, maxItems, properties, additionalProperties, maxLength } = described;
  const choices = described.anyOf ?? described.oneOf;
  if (choices !== undefined) return longest(choices.map((choice) => made(choice, room)));
  if (described.const !== undefined) return described.const;
  if (described.enum !== undefined) return longest(described.enum);
  if (type === "array") return many(items ?? {}, room, maxItems);
  if (type === "object" && properties !== undefined) {
    const share = Math.floor(room / Object.keys(properties).length);
    return Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, made(one, share - key.length)]));
  }
  if (type === "object") {
    const values = typeof additionalProperties === "object" ? additionalProperties : { type: "string" };
    return Object.fromEntries(many(values, room, undefined).map((value, n) => [`${n}`, value]));
  }
  if (type === "integer" || type === "number") return described.maximum ?? 1;
  if (type === "boolean") return false;
  if (type === "null") return null;
  return "x".repeat(Math.max(0, Math.min(maxLength ?? room, room)));
}

/** As many as are allowed, else many of a middling size. */
function many(items: Described, room: number, maxItems: number | undefined): unknown[] {
  const one = made(items, maxItems === undefined ? ITEM_ROOM : Math.floor(room / maxItems) - 1);
  return Array.from({ length: Math.min(maxItems ?? room, Math.floor(room / (length(one) + 10))) }, () => one);
}

const longest = (values: readonly unknown[]): unknown => values.toSorted((a, b) => length(b) - length(a))[0];

const length = (value: unknown): number => JSON.stringify(value)?.length ?? 0;

const ITEM_ROOM = 1000;
const TOLERANT = { unrepresentable: "any", io: "input" } as const;
