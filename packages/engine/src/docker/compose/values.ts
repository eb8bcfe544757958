import { recordOf } from "@berth/core/compose";

/** `name=value` in a list, or a map. A value that is missing is `null`. */
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

/** Labels that a text gives, without those by which Berth and the compose tool find what is theirs. */
export const userLabels = (said: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(pairsOf(said)).flatMap(([name, value]) =>
      RESERVED.test(name) ? [] : [[name, value ?? ""] as const],
    ),
  );

const RESERVED = /^(berth|com\.docker\.compose)\./;
