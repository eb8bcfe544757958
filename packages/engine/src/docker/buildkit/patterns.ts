import { posix } from "node:path";

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

/** @throws Error when one of the patterns is invalid. */
export function patternsOf(texts: readonly string[]): Patterns {
  const patterns = texts.flatMap((text) => (text.trim() === "" ? [] : [patternOf(text.trim())]));
  return {
    match(path, parent) {
      let isMatch = false;
      const each = patterns.map(({ isException, expression }, index) => {
        let matches = parent?.each[index] ?? false;
        // A pattern that cannot change the result is not evaluated.
        if (!matches && isException === isMatch) matches = expression.test(path);
        if (matches) isMatch = !isException;
        return matches;
      });
      return { isMatch, each };
    },
    mayTurnBelow: (folder, { isMatch }) =>
      patterns.some(({ isException, prefix }) => isException === isMatch && leadsInto(prefix, folder)),
  };
}

interface Pattern {
  readonly isException: boolean;
  readonly expression: RegExp;
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

/** @throws Error when the pattern is invalid. */
export function expressionOf(pattern: string): RegExp {
  try {
    return new RegExp(`^${translated(pattern)}$`, "u");
  } catch {
    throw new Error(`"${pattern}" is not a pattern.`);
  }
}

function translated(pattern: string): string {
  let expression = "";
  for (let rest = pattern; rest !== ""; ) {
    const { text, length } = partOf(rest);
    expression += text;
    rest = rest.slice(length);
  }
  return expression;
}

function partOf(rest: string): { readonly text: string; readonly length: number } {
  const [folders] = /^\*\*\/?/.exec(rest) ?? [];
  if (folders !== undefined) {
    return { text: folders === rest ? "[^]*" : "(?:[^]*\\/)?", length: folders.length };
  }
  if (rest.startsWith("*")) return { text: "[^/]*", length: 1 };
  if (rest.startsWith("?")) return { text: "[^/]", length: 1 };
  const [, negation = "", characters] = /^\[(\^?)((?:\\.|[^\]\\])+)\]/su.exec(rest) ?? [];
  if (characters !== undefined) {
    return { text: `[${negation}${classOf(characters)}]`, length: characters.length + negation.length + 2 };
  }
  if (rest.startsWith("[")) throw new Error("A class has no end.");
  const [, escaped] = /^\\(.)/su.exec(rest) ?? [];
  if (escaped !== undefined) return { text: literal(escaped), length: escaped.length + 1 };
  const [character = ""] = rest;
  return { text: literal(character), length: character.length };
}

/** Escapes a character class; only ranges keep their meaning. */
const classOf = (characters: string): string =>
  characters.replace(/\\(.)|([\]\\^[])/gsu, (_whole, escaped?: string, bare?: string) =>
    inClass(escaped ?? bare ?? ""),
  );

const inClass = (character: string): string => (/[\]\\^[-]/.test(character) ? `\\${character}` : character);

const literal = (character: string): string => (/[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character);
