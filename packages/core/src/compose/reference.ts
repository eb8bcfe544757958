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
export function referencesOf(text: string, depth = 0): readonly Reference[] {
  if (depth > NESTED_MAX) return [];
  return partsOf(text).flatMap((part) => {
    if (typeof part === "string") return [];
    const { key, operator, rest } = part;
    const fallback = operator === "-" ? rest : null;
    const reason = operator === "?" && rest !== "" ? { reason: rest } : {};
    const reference = { key, fallback, isRequired: operator === "?", ...reason };
    return operator === "-" || operator === "+" ? [reference, ...referencesOf(rest, depth + 1)] : [reference];
  });
}

/**
 * What the text of `${NAME:?text}` at the beginning of a container's variable means to this API family: the first value
 * of a variable that must not be emptied. The compose tool takes it for a message. Empty for any other text.
 */
export function firstValueOf(text: string): readonly Reference[] {
  if (!text.startsWith("${")) return [];
  const [, first] = partsOf(text);
  if (typeof first !== "object" || first.operator !== "?" || first.rest === "") return [];
  const { key, rest } = first;
  return [{ key, fallback: rest, isRequired: true, reason: rest }, ...referencesOf(rest)];
}

/** The text as the compose tool reads it when no variable has a value. */
export const withDefaults = (text: string): string => interpolateCompose(text, () => undefined);

/**
 * The text as the compose tool reads it.
 * @param lookUp `undefined` for a variable that is not set.
 * @throws DomainError `deploy.start_failed` when it exceeds what anybody can use
 */
export function interpolateCompose(text: string, lookUp: (key: string) => string | undefined, depth = 0): string {
  if (depth > NESTED_MAX) return "";
  const read = (part: Part): string => {
    const value = lookUp(part.key);
    const isThere = value !== undefined && (value !== "" || !part.isEmptyNone);
    if (isThere) return part.operator === "+" ? interpolateCompose(part.rest, lookUp, depth + 1) : value;
    return part.operator === "-" ? interpolateCompose(part.rest, lookUp, depth + 1) : "";
  };
  const add = boundedLength();
  // Counted as it grows: some characters that name a long value many times would else fill the memory.
  const all = partsOf(text).map((part) => add(typeof part === "string" ? part : read(part)));
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
  readonly rest: string;
  /** With a colon, `${NAME:-...}`: an empty value counts as none. */
  readonly isEmptyNone: boolean;
}

function partsOf(text: string): readonly (string | Part)[] {
  const parts: (string | Part)[] = [];
  const closing = closingBraces(text);
  let at = 0;
  for (let dollar = text.indexOf("$"); dollar !== -1; dollar = text.indexOf("$", at)) {
    parts.push(text.slice(at, dollar));
    const read = text[dollar + 1] === "$" ? { part: "$", end: dollar + 2 } : partAt(text, dollar, closing);
    parts.push(read.part);
    at = read.end;
  }
  parts.push(text.slice(at));
  return parts;
}

function partAt(text: string, dollar: number, closing: ReadonlyMap<number, number>) {
  const isBraced = text[dollar + 1] === "{";
  const start = dollar + (isBraced ? 2 : 1);
  NAME.lastIndex = start;
  const key = NAME.exec(text)?.[0];
  const none = { part: "$", end: dollar + 1 };
  if (key === undefined) return none;
  if (!isBraced) return { part: { key, operator: undefined, rest: "", isEmptyNone: false }, end: start + key.length };
  const close = closing.get(dollar);
  if (close === undefined) return none;
  const behind = text.slice(start + key.length, close);
  const [, colon, operator, rest = ""] = /^(:?)([-?+])([\s\S]*)$/.exec(behind) ?? [];
  if (operator === undefined && behind !== "") return none;
  return { part: { key, operator, rest, isEmptyNone: colon === ":" }, end: close + 1 };
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;

/** Where each `${` ends, by where it begins; in one pass, so that a text of many open ones costs no more. */
function closingBraces(text: string): ReadonlyMap<number, number> {
  const closing = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const next = text[at + 1];
    if (text[at] === "}") {
      const begin = open.pop();
      if (begin !== undefined) closing.set(begin, at);
    } else if (text[at] === "$" && (next === "$" || next === "{")) {
      if (next === "{") open.push(at);
      at += 1;
    }
  }
  return closing;
}
