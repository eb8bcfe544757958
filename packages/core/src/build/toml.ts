import { parse } from "smol-toml";
import { wholeText } from "./language.ts";
import type { SourceFacts } from "./plan.ts";

/** A TOML file of the source; `undefined` where it is absent, is not valid or may not have been read to its end. */
export function tomlOf(facts: SourceFacts, path: string): Readonly<Record<string, unknown>> | undefined {
  const text = wholeText(facts, path);
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch {
    // The tool that it was written for reports what is wrong, when it installs.
    return undefined;
  }
}

/** The value under these keys, each in the table or the list of the one before. */
export const valueAt = (table: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce((at, key) => (typeof at === "object" && at !== null ? Reflect.get(at, key) : undefined), table);

/** The text under these keys. */
export function textAt(table: unknown, ...keys: readonly string[]): string | undefined {
  const value = valueAt(table, ...keys);
  return typeof value === "string" ? value : undefined;
}
