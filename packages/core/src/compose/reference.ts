import { DomainError } from "../errors.ts";

/** One `${...}` or `$NAME` of a compose text. */
export interface Reference {
  readonly key: string;
  /** The default, which may contain further references; `null` when there is none. */
  readonly fallback: string | null;
  /** Without a value the compose tool refuses to start: `${NAME:?message}`. */
  readonly isRequired: boolean;
  /** The message of a required one, where there is one. */
  readonly reason?: string;
}

/** References in fallbacks of references. */
const NESTED_MAX = 8;

/** The references of a text, each before those in its fallback. What is none, such as `$$` or `${1}`, is passed over. */
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
 * What the text of `${NAME:?text}` at the beginning of a container's variable means to this API family: the first value
 * of a variable that must not be emptied. The compose tool takes it for a message. Empty for any other text.
 */
export function firstValueOf(text: string): readonly Reference[] {
  if (!text.startsWith("${")) return [];
  const [, first] = partsOf(whole(text));
  if (typeof first !== "object" || first.operator !== "?") return [];
  const { key, rest } = first;
  const value = textOf(rest);
  return value === "" ? [] : [{ key, fallback: value, isRequired: true, reason: value }, ...referencesIn(rest, 0)];
}

/** The text as the compose tool reads it when no variable has a value. */
export const withDefaults = (text: string): string => interpolateCompose(text, () => undefined);

/**
 * The text as the compose tool reads it.
 * @param lookUp `undefined` for a variable that is not set.
 * @throws DomainError `deploy.start_failed` when it exceeds what anybody can use
 */
export const interpolateCompose = (text: string, lookUp: (key: string) => string | undefined): string =>
  interpolateSection(whole(text), lookUp, 0);

function interpolateSection(section: Section, lookUp: (key: string) => string | undefined, depth: number): string {
  if (depth > NESTED_MAX) return "";
  const read = (part: Part): string => {
    const value = lookUp(part.key);
    const isThere = value !== undefined && (value !== "" || !part.isEmptyNone);
    if (isThere) return part.operator === "+" ? interpolateSection(part.rest, lookUp, depth + 1) : value;
    return part.operator === "-" ? interpolateSection(part.rest, lookUp, depth + 1) : "";
  };
  const add = boundedLength();
  // Counted as it grows: some characters that name a long value many times would else fill the memory.
  const all = partsOf(section).map((part) => add(typeof part === "string" ? part : read(part)));
  return all.join("");
}

/**
 * A value of a compose document with its references replaced, wherever they stand; keys stay as they are.
 * @throws DomainError `deploy.start_failed` when it exceeds what anybody can use
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

/** Counts what it is given, and is refused more than anybody can use. @throws DomainError `deploy.start_failed` */
export function boundedLength(): (text: string) => string {
  let length = 0;
  return (text) => {
    length += text.length;
    if (length <= INTERPOLATED_LENGTH_MAX) return text;
    const sentence = `The compose file exceeds ${INTERPOLATED_LENGTH_MAX} characters after its variables are filled in. Shorten their values.`;
    throw new DomainError("deploy.start_failed", sentence);
  };
}

const INTERPOLATED_LENGTH_MAX = 16 * 1_048_576; // A text has at most one of these; its largest values go in several times.

interface Part {
  readonly key: string;
  readonly operator: string | undefined;
  /** Behind the operator. */
  readonly rest: Section;
  /** With a colon, `${NAME:-...}`: an empty value counts as none. */
  readonly isEmptyNone: boolean;
}

/** A part of a text whose braces have been found: those of a fallback are not looked for once more. */
interface Section {
  readonly text: string;
  readonly closing: ReadonlyMap<number, number>;
  readonly from: number;
  readonly to: number;
}

const whole = (text: string): Section => ({ text, closing: closingBraces(text), from: 0, to: text.length });
const textOf = ({ text, from, to }: Section): string => text.slice(from, to);

function partsOf(section: Section): readonly (string | Part)[] {
  const { text, from, to } = section;
  const parts: (string | Part)[] = [];
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

function partAt({ text, closing }: Section, dollar: number): { readonly part: string | Part; readonly end: number } {
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

/** Where each `${` ends, by where it begins; in one pass, so that a text of many open ones costs no more. */
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
