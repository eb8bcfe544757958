import type { BuildStep, Language, SourceFacts } from "./plan.ts";

/** A project of a language that is neither Node nor static files: how it is built and started. */
export interface LanguageProject {
  readonly language: Language;
  /** For people: `Python, Django`. */
  readonly title: string;
  /** The version that the project asks for: `3.12`. */
  readonly version: string | undefined;
  /** Programs that its steps and its start need. */
  readonly programs: readonly string[];
  readonly steps: readonly BuildStep[];
  /** A line of a shell. `undefined`: nothing says how it starts. */
  readonly start: string | undefined;
  /** What was looked for to start it, and an example: for the sentence that asks for a start command. */
  readonly help: { readonly looked: string; readonly example: string };
  /** Folders with programs of its dependencies, relative to the base directory. */
  readonly bins: readonly string[];
  /** Set where it runs, unless the application's own variables do: values are words of the shell. */
  readonly env: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** Extensions that PHP needs beside its own. */
  readonly extensions?: readonly string[];
}

export type LanguageRule = (facts: SourceFacts) => LanguageProject | undefined;

/** Where a server listens: the process engine says so in HOST, a container on all its addresses. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion.
export const LISTEN_HOST = "${HOST:-0.0.0.0}";

/** Where a compiled program lies after the build. */
export const MADE_FOLDER = ".berth";

export const has = ({ entries }: SourceFacts, name: string): boolean => entries.includes(name);
export const textOf = ({ texts }: SourceFacts, path: string): string => texts.get(path) ?? "";

/**
 * The first line that a pattern matches. Sources are untrusted: a pattern that begins with `^`, on one trimmed line of
 * bounded length, takes time in proportion to the file, which one over all lines does not.
 */
export function lineMatch(text: string, pattern: RegExp): RegExpExecArray | undefined {
  for (const line of text.split("\n")) {
    const found = line.length > LINE_LENGTH_MAX ? null : pattern.exec(line.trim());
    if (found !== null) return found;
  }
  return undefined;
}

const LINE_LENGTH_MAX = 8192; // Longer lines are no settings that somebody wrote.

/** The first of these files that exists. */
export const firstFile = ({ files }: SourceFacts, paths: readonly string[]): string | undefined =>
  paths.find((path) => files.includes(path));

/** `3.12` of the beginning of a file such as `.python-version`. */
export const versionIn = (text: string): string | undefined =>
  /^\D{0,20}(\d{1,4}(?:\.\d{1,4})?)/.exec(text.trim())?.[1];

/** Files that have no manifest beside them are a program only where they are not a page's. */
export const isPage = (facts: SourceFacts): boolean => has(facts, "index.html");
