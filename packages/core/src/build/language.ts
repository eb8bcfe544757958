import type { BuildStep, EarlyInstall, Language, SourceFacts } from "./plan.ts";

/** A project of a language that is neither Node nor static files: how it is built and started. */
export interface LanguageProject {
  readonly language: Language;
  /** Name for messages: `Python, Django`. */
  readonly title: string;
  /** The version that the project asks for: `3.12`. */
  readonly version: string | undefined;
  /** Programs that its steps and its start need. */
  readonly programs: readonly string[];
  readonly steps: readonly BuildStep[];
  /**
   * The part of its installation that needs only these files. Left out: the installation may read any file. A step that
   * is also one of `steps` is not run again with the others.
   */
  readonly early?: Omit<EarlyInstall, "later"> | undefined;
  /** Shell command line; `undefined` if no start command was found. */
  readonly start: string | undefined;
  /** What was searched for, and an example, for the message that asks for a start command. */
  readonly help: { readonly looked: string; readonly example: string };
  /** Folders with programs of its dependencies, relative to the base directory. */
  readonly bins: readonly string[];
  /** Defaults for the running program; the application's own variables win. Values are shell words. */
  readonly env: Readonly<Record<string, string>>;
  readonly warnings: readonly string[];
  /** PHP extensions that are not built in. */
  readonly extensions?: readonly string[];
}

export type LanguageRule = (facts: SourceFacts) => LanguageProject | undefined;

/** Address to listen on: the process engine sets HOST, a container listens on all addresses. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion.
export const LISTEN_HOST = "${HOST:-0.0.0.0}";

/** Path of a compiled program. */
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

/** The first bytes of a file are read, at most this many: of a lockfile only the first lines are looked at. */
export const TEXT_BYTES_MAX = 64 << 10;

/** The text of a file that was certainly read to its end; a link has none. */
export function wholeText({ texts }: SourceFacts, path: string): string | undefined {
  const text = texts.get(path);
  return text === undefined || new TextEncoder().encode(text).length >= TEXT_BYTES_MAX ? undefined : text;
}

const LINE_LENGTH_MAX = 8192; // Longer lines are no settings that somebody wrote.

/** The first of these files that exists. */
export const firstFile = ({ files }: SourceFacts, paths: readonly string[]): string | undefined =>
  paths.find((path) => files.includes(path));

/** `3.12` of the beginning of a file such as `.python-version`. */
export const versionIn = (text: string): string | undefined =>
  /^\D{0,20}(\d{1,4}(?:\.\d{1,4})?)/.exec(text.trim())?.[1];

/** Without a manifest, scripts may belong to a web page instead of being a program. */
export const isPage = (facts: SourceFacts): boolean => has(facts, "index.html");
