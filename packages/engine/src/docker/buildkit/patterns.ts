import { posix } from "node:path";
import { anyCharacter, type GlobToken, type MatchEffort, matchesGlob, noSlash } from "@berth/core";

/**
 * Patterns of a `.dockerignore`, matched like the engine's own clients do (github.com/moby/patternmatcher): the last
 * pattern that matches a path, or a folder above it, decides; `!` negates it.
 */
export interface Patterns {
  /** @param parent Result for the folder that contains the path. */
  match(path: string, parent: PatternMatch | undefined): PatternMatch;
  /** Whether the result for a path below this folder may differ from the folder's own. */
  mayTurnBelow(folder: string, match: PatternMatch): boolean;
}

export interface PatternMatch {
  readonly isMatch: boolean;
  /** Result of each pattern, in order. */
  readonly each: readonly boolean[];
}

/** @throws Error when one of the patterns is invalid; so does `match` when they take too long. */
export function patternsOf(texts: readonly string[]): Patterns {
  const patterns = texts.flatMap((text) => (text.trim() === "" ? [] : [patternOf(text.trim())]));
  const effort = { stepsLeft: STEPS_MAX };
  return {
    match(path, parent) {
      let isMatch = false;
      const own = { stepsLeft: Math.min(effort.stepsLeft, STEPS_OF_PATH_MAX) };
      effort.stepsLeft -= own.stepsLeft;
      const each = patterns.map(({ isException, expression }, index) => {
        let matches = parent?.each[index] ?? false;
        // A pattern that cannot change the result is not evaluated.
        if (!matches && isException === isMatch) matches = expression.test(path, own);
        if (matches) isMatch = !isException;
        return matches;
      });
      effort.stepsLeft += own.stepsLeft;
      return { isMatch, each };
    },
    mayTurnBelow: (folder, { isMatch }) =>
      patterns.some(({ isException, prefix }) => isException === isMatch && leadsInto(prefix, folder)),
  };
}

/** Some 40 ms in one piece, and 3 s for all paths. Usual patterns need a hundredth of it. */
const STEPS_OF_PATH_MAX = 700_000;
const STEPS_MAX = 50_000_000;

interface Pattern {
  readonly isException: boolean;
  readonly expression: Expression;
  /** Leading path segments that all matches have in common. */
  readonly prefix: readonly string[];
}

function patternOf(text: string): Pattern {
  const cleaned = clean(text);
  const isException = cleaned.startsWith("!");
  const bare = isException ? cleaned.slice(1) : cleaned;
  if (bare === "") throw new Error(`"${text}" is not a pattern.`);
  const names = bare.split("/");
  const wild = names.findIndex((name) => isWild(name));
  return { isException, expression: expressionOf(bare), prefix: wild === -1 ? names : names.slice(0, wild) };
}

function leadsInto(prefix: readonly string[], folder: string): boolean {
  const names = folder.split("/");
  return names.every((name, index) => index >= prefix.length || prefix[index] === name);
}

function clean(path: string): string {
  const normal = posix.normalize(path);
  return normal.length > 1 ? normal.replace(/\/$/, "") : normal;
}

/** Whether a name contains wildcards. */
export const isWild = (name: string): boolean => /[*?[\\]/.test(name);

export interface Expression {
  /** @throws Error when it takes more steps than are left. */
  test(path: string, effort?: MatchEffort): boolean;
}

/** @throws Error when the pattern is invalid. */
export function expressionOf(pattern: string): Expression {
  const parts = partsOf(pattern);
  const tokens = parts.map(({ token }) => token);
  const wildcards = tokens.filter(({ type }) => type !== "one").length;
  const regex = regexOf(`^${parts.map(({ text }) => text).join("")}$`, pattern);
  return {
    test(path, effort = { stepsLeft: STEPS_OF_PATH_MAX }) {
      // A regular expression is faster, but tries all ways to divide a path between its wildcards.
      if (path.length ** wildcards <= TRIES_MAX) return regex.test(path);
      const isMatch = matchesGlob(tokens, path, effort);
      if (effort.stepsLeft >= 0) return isMatch;
      throw new Error(`"${pattern.slice(0, 100)}" has too many wildcards. Use fewer.`);
    },
  };
}

const TRIES_MAX = 50_000;

function regexOf(text: string, pattern: string): RegExp {
  try {
    return new RegExp(text, "u");
  } catch {
    throw new Error(`"${pattern}" is not a pattern.`);
  }
}

interface Part {
  readonly text: string;
  readonly token: GlobToken;
  readonly length: number;
}

function partsOf(pattern: string): readonly Part[] {
  const parts: Part[] = [];
  for (let rest = pattern; rest !== ""; ) {
    const part = partOf(rest, pattern);
    parts.push(part);
    rest = rest.slice(part.length);
  }
  return parts;
}

function partOf(rest: string, pattern: string): Part {
  const [folders] = /^\*\*\/?/.exec(rest) ?? [];
  if (folders !== undefined) {
    const { length } = folders;
    if (folders === rest) return { text: "[^]*", token: { type: "run", takes: anyCharacter }, length };
    return { text: "(?:[^]*\\/)?", token: { type: "folders" }, length };
  }
  if (rest.startsWith("*")) return { text: "[^/]*", token: { type: "run", takes: noSlash }, length: 1 };
  if (rest.startsWith("?")) return { text: "[^/]", token: { type: "one", takes: noSlash }, length: 1 };
  const [, negation = "", characters] = /^\[(\^?)((?:\\.|[^\]\\])+)\]/su.exec(rest) ?? [];
  if (characters !== undefined) {
    const text = `[${negation}${classOf(characters)}]`;
    const one = regexOf(text, pattern);
    const takes = (character: string) => one.test(character);
    return { text, token: { type: "one", takes }, length: characters.length + negation.length + 2 };
  }
  if (rest.startsWith("[")) throw new Error(`"${pattern}" has a class without an end, so it is not a pattern.`);
  const [, escaped] = /^\\(.)/su.exec(rest) ?? [];
  const character = escaped ?? String.fromCodePoint(rest.codePointAt(0) ?? 0);
  const takes = (other: string) => other === character;
  const length = character.length + (escaped === undefined ? 0 : 1);
  return { text: literal(character), token: { type: "one", takes }, length };
}

/** Escapes a character class; only ranges keep their meaning. */
const classOf = (characters: string): string =>
  characters.replace(/\\(.)|([\]\\^[])/gsu, (_whole, escaped?: string, bare?: string) =>
    inClass(escaped ?? bare ?? ""),
  );

const inClass = (character: string): string => (/[\]\\^[-]/.test(character) ? `\\${character}` : character);

const literal = (character: string): string => (/[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character);
