import { recordOf } from "@berth/core/compose";

/** Parses a list of `name=value`, or a map. A missing value is `null`. */
export function pairsOf(value: unknown): Readonly<Record<string, string | null>> {
  if (!Array.isArray(value)) {
    const entries = Object.entries(recordOf(value));
    return Object.fromEntries(entries.map(([key, item]) => [key, item === null ? null : String(item)]));
  }
  return Object.fromEntries(
    value.map((item: unknown) => {
      const text = String(item);
      const equals = text.indexOf("=");
      return equals === -1 ? [text, null] : [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}

/** Labels of a compose file, without those that Berth and the compose tool set themselves. */
export const userLabels = (said: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(pairsOf(said)).flatMap(([name, value]) =>
      RESERVED.test(name) ? [] : [[name, value ?? ""] as const],
    ),
  );

const RESERVED = /^(berth|com\.docker\.compose)\./;
