import { DomainError } from "../errors.ts";

/** One `${...}` or `$NAME` in a compose file. */
export interface Reference {
  readonly key: string;
  /** The default, which may contain further references; `null` when there is none. */
  readonly fallback: string | null;
  /** `${NAME:?message}`: the compose tool refuses to start without a value. */
  readonly isRequired: boolean;
  /** The message of a required variable, if it has one. */
  readonly reason?: string;
}

/** Limit of nested references in defaults. */
const NESTED_MAX = 8;

/** The references in a text, each before those in its default. `$$` and `${1}` are not references. */
export const referencesOf = (text: string): readonly Reference[] => referencesIn(whole(text), 0);

function referencesIn(section: Section, depth: number): readonly Reference[] {
  if (depth > NESTED_MAX) return [];
  return partsOf(section).flatMap((part) => {
    if (typeof part === "string") return [];
    const { key, operator, rest } = part;
    const fallback = operator === "-" ? textOf(rest) : null;
    const reason = operator === "?" && rest.to > rest.from ? { reason: textOf(rest) } : {};
    const reference = { key, fallback, isRequired: operator === "?", ...reason };
    return operator === "-" || operator === "+" ? [reference, ...referencesIn(rest, depth + 1)] : [reference];
  });
}

/**
 * In this API family, `${NAME:?text}` at the beginning of a variable's value means: the variable must not be empty,
 * and its first value is the text. For the compose tool it is a message. Empty for any other text.
 */
export function firstValueOf(text: string): readonly Reference[] {
  if (!text.startsWith("${")) return [];
  const [, first] = partsOf(whole(text));
  if (typeof first !== "object" || first.operator !== "?") return [];
  const { key, rest } = first;
  const value = textOf(rest);
  return value === "" ? [] : [{ key, fallback: value, isRequired: true, reason: value }, ...referencesIn(rest, 0)];
}

/** The text after interpolation without any variables. */
export const withDefaults = (text: string): string => interpolateCompose(text, () => undefined);

/**
 * Interpolates a text like the compose tool does.
 * @param lookUp Returns `undefined` for a variable that is not set.
 * @throws DomainError `deploy.start_failed` when the result exceeds the limit
 */
export const interpolateCompose = (text: string, lookUp: (key: string) => string | undefined): string =>
  interpolateSection(whole(text), lookUp, 0);

function interpolateSection(section: Section, lookUp: (key: string) => string | undefined, depth: number): string {
  if (depth > NESTED_MAX) return "";
  const read = (part: ReferencePart): string => {
    const value = lookUp(part.key);
    const isThere = value !== undefined && (value !== "" || !part.isEmptyNone);
    if (isThere) return part.operator === "+" ? interpolateSection(part.rest, lookUp, depth + 1) : value;
    return part.operator === "-" ? interpolateSection(part.rest, lookUp, depth + 1) : "";
  };
  const add = boundedLength();
  // Checked while the text grows, since a short text that repeats a long value could fill the memory.
  const all = partsOf(section).map((part) => add(typeof part === "string" ? part : read(part)));
  return all.join("");
}

/**
 * A value of a compose document with all references replaced; keys stay unchanged.
 * @throws DomainError `deploy.start_failed` when the result exceeds the limit
 */
export function interpolated(value: unknown, variables: Readonly<Record<string, string>>): unknown {
  const lookUp = (key: string) => (Object.hasOwn(variables, key) ? variables[key] : undefined);
  const add = boundedLength();
  const replaced = (item: unknown): unknown => {
    if (typeof item === "string") return add(interpolateCompose(item, lookUp));
    if (Array.isArray(item)) return item.map(replaced);
    if (typeof item !== "object" || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([key, one]) => [key, replaced(one)]));
  };
  return replaced(value);
}

/**
 * Returns a function that adds up the lengths of texts. It throws DomainError `deploy.start_failed` above the limit.
 */
export function boundedLength(): (text: string) => string {
  let length = 0;
  return (text) => {
    length += text.length;
    if (length <= INTERPOLATED_LENGTH_MAX) return text;
    const sentence = `The compose file exceeds ${INTERPOLATED_LENGTH_MAX} characters after its variables are filled in. Shorten their values.`;
    throw new DomainError("deploy.start_failed", sentence);
  };
}

const INTERPOLATED_LENGTH_MAX = 16 * 1_048_576; // A compose file has at most 1 MiB; its largest values may be inserted several times.

interface ReferencePart {
  readonly key: string;
  readonly operator: string | undefined;
  /** The text after the operator. */
  readonly rest: Section;
  /** `${NAME:-...}`: with the colon an empty value counts as unset. */
  readonly isEmptyNone: boolean;
}

/** A part of a text whose closing braces are known, so that nested parts are not searched again. */
interface Section {
  readonly text: string;
  readonly closing: ReadonlyMap<number, number>;
  readonly from: number;
  readonly to: number;
}

const whole = (text: string): Section => ({ text, closing: closingBraces(text), from: 0, to: text.length });
const textOf = ({ text, from, to }: Section): string => text.slice(from, to);

function partsOf(section: Section): readonly (string | ReferencePart)[] {
  const { text, from, to } = section;
  const parts: (string | ReferencePart)[] = [];
  let at = from;
  const next = () => {
    const dollar = text.indexOf("$", at);
    return dollar === -1 || dollar >= to ? to : dollar;
  };
  for (let dollar = next(); dollar < to; dollar = next()) {
    parts.push(text.slice(at, dollar));
    const read = text[dollar + 1] === "$" ? { part: "$", end: dollar + 2 } : partAt(section, dollar);
    parts.push(read.part);
    at = read.end;
  }
  parts.push(text.slice(at, to));
  return parts;
}

function partAt(
  { text, closing }: Section,
  dollar: number,
): { readonly part: string | ReferencePart; readonly end: number } {
  const isBraced = text[dollar + 1] === "{";
  const start = dollar + (isBraced ? 2 : 1);
  NAME.lastIndex = start;
  const key = NAME.exec(text)?.[0];
  const none = { part: "$", end: dollar + 1 };
  if (key === undefined) return none;
  const end = start + key.length;
  const rest = (from: number, until: number): Section => ({ text, closing, from, to: until });
  if (!isBraced) return { part: { key, operator: undefined, rest: rest(end, end), isEmptyNone: false }, end };
  const close = closing.get(dollar);
  if (close === undefined) return none;
  OPERATOR.lastIndex = end;
  const [said = "", colon, operator] = OPERATOR.exec(text) ?? [];
  if (operator === undefined && close > end) return none;
  const part = { key, operator, rest: rest(end + said.length, close), isEmptyNone: colon === ":" };
  return { part, end: close + 1 };
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const OPERATOR = /(:?)([-?+])/y;

const [DOLLAR, OPEN, CLOSE] = [0x24, 0x7b, 0x7d];

/** The end of each `${` by its start, found in one pass, so that many open ones cost no more. */
function closingBraces(text: string): ReadonlyMap<number, number> {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (let at = text.indexOf("$"); at !== -1 && at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === CLOSE) {
      const begin = open.pop();
      if (begin !== undefined) closing.set(begin, at);
    } else if (code === DOLLAR) {
      const next = text.charCodeAt(at + 1);
      if (next === OPEN) open.push(at);
      if (next === OPEN || next === DOLLAR) at += 1;
    }
  }
  return closing;
}
