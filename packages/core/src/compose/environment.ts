import type { EntryNote, YamlValue } from "./yaml.ts";

/** One variable that a compose file gives a container. */
export interface EnvironmentEntry {
  readonly key: string;
  /** `null`: the value comes from the variable of the same name. */
  readonly value: string | null;
  readonly comment: string | null;
}

/** The entries of `environment`, which may be a map, a list or lines of text, as written. */
export function environmentOf(environment: unknown, notes: YamlValue["notes"]): readonly EnvironmentEntry[] {
  if (typeof environment === "string") return environmentLines(environment).map((line) => ofItem(line, undefined));
  if (typeof environment !== "object" || environment === null) return [];
  const noteOf = (key: string | number) => notes.get(environment)?.get(key);
  if (Array.isArray(environment)) {
    return environment.flatMap((item: unknown, index) => {
      if (typeof item === "string") return [ofItem(item, noteOf(index))];
      return typeof item === "object" && item !== null ? environmentOf(item, notes) : [];
    });
  }
  return Object.entries(environment).map(([key, value]) => ({
    key,
    value: textOf(value, noteOf(key)),
    comment: commentOf(noteOf(key)),
  }));
}

/** Not in the compose specification: this API family also accepts a text instead of a list. */
export const environmentLines = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));

function ofItem(item: string, note: EntryNote | undefined): EnvironmentEntry {
  const equals = item.indexOf("=");
  const comment = commentOf(note);
  if (equals === -1) return { key: item.trim(), value: null, comment };
  return { key: item.slice(0, equals).trim(), value: item.slice(equals + 1), comment };
}

/** A number or flag as written in the file: as a number, `1.10` would become `1.1`. */
function textOf(value: unknown, note: EntryNote | undefined): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === "string" ? value : (note?.source ?? String(value));
}

/** The limit of a variable's comment field. */
const COMMENT_LENGTH_MAX = 256;

const commentOf = (note: EntryNote | undefined): string | null => note?.comment?.slice(0, COMMENT_LENGTH_MAX) || null;
