import { ENV_ENTRY_BYTES_MAX } from "./env-size.ts";

/** The owners that a shared variable may have. */
export const SHARED_SCOPES = ["team", "project", "environment", "server"] as const;
export type SharedScope = (typeof SHARED_SCOPES)[number];

/** The first word of a reference: the owner of a shared variable, or `database`. */
export type ReferenceScope = SharedScope | "database";

/** What a reference to a database can mean: its URL, or a part of it. */
export const DATABASE_PROPERTIES = ["url", "host", "port", "user", "password", "name"] as const;
export type DatabaseProperty = (typeof DATABASE_PROPERTIES)[number];

/** Values that the references of a resource have, by scope and key. */
export type SharedVariables = { readonly [Scope in ReferenceScope]?: ReadonlyMap<string, string> };

const REFERENCE =
  /\{\{\s*(?:(team|project|environment|server)\.([A-Za-z_][A-Za-z0-9_.]*)|(database)\.([^{}\r\n]{1,255}?\.[a-z]+))\s*\}\}/g;
const ONLY_REFERENCE = new RegExp(`^\\s*${REFERENCE.source}\\s*$`);

/**
 * Replaces `{{ scope.KEY }}`; unknown references stay. Inserted values are not interpolated again. Stops replacing
 * above the limit of a program's arguments, since a few bytes of references could expand to gigabytes.
 */
export function interpolate(value: string, shared: SharedVariables): string {
  let length = value.length;
  return value.replace(REFERENCE, (reference, ...groups: readonly (string | undefined)[]) => {
    const { scope, key } = parted(groups);
    const text = shared[scope]?.get(key);
    if (text === undefined || length > ENV_ENTRY_BYTES_MAX) return reference;
    length += text.length - reference.length;
    return text;
  });
}

/** A reference of the form `{{ scope.KEY }}`. For a database the key is `NAME.PROPERTY`, with its name or uuid. */
export interface SharedReference {
  readonly scope: ReferenceScope;
  readonly key: string;
}

/** The pattern admits only these scopes, and has two groups for each form. */
const parted = ([owner, variable = "", database, property = ""]: readonly (string | undefined)[]): SharedReference =>
  database === undefined ? { scope: owner as SharedScope, key: variable } : { scope: "database", key: property };

/** @param name Its name or uuid. */
export const databaseReference = (name: string, property: DatabaseProperty = "url"): SharedReference => ({
  scope: "database",
  key: `${name}.${property}`,
});

/** What a reference means of which database, by its name or uuid; `undefined` for other references. */
export function databaseIn({ scope, key }: SharedReference): DatabaseReference | undefined {
  if (scope !== "database") return undefined;
  const dot = key.lastIndexOf(".");
  const property = DATABASE_PROPERTIES.find((one) => one === key.slice(dot + 1));
  return property && { name: key.slice(0, dot), property };
}
export interface DatabaseReference {
  readonly name: string;
  readonly property: DatabaseProperty;
}

export const databaseNameIn = (reference: SharedReference): string | undefined => databaseIn(reference)?.name;

/** Whether references can contain this name: not with braces or line breaks. */
export const isReferable = (name: string): boolean => {
  const wanted = databaseReference(name);
  const [found] = referencesIn([referenceText(wanted)]);
  return found?.scope === "database" && found.key === wanted.key;
};

export const referenceText = ({ scope, key }: SharedReference): string => `{{ ${scope}.${key} }}`;

/** References in these values, without duplicates, in order of appearance. */
export function referencesIn(values: Iterable<string | null>): readonly SharedReference[] {
  const found = new Map<string, SharedReference>();
  for (const value of values) {
    for (const [, ...groups] of value?.matchAll(REFERENCE) ?? []) {
      const reference = parted(groups);
      found.set(referenceText(reference), reference);
    }
  }
  return [...found.values()];
}

/** Bounded, so that a value of many braces is read in linear time. */
const NEARLY_REFERENCE = /\{\{\s*(team|project|environment|server|databases?)\b[^{}\r\n]{0,300}\}\}/gi;

/** What looks like a reference and is none, such as `{{ database.orders }}`, with what to write. */
export const nearReferencesIn = (value: string): readonly { readonly text: string; readonly remedy: string }[] =>
  [...value.matchAll(NEARLY_REFERENCE)].flatMap(([text, word = ""]) => {
    const [found] = referencesIn([text]);
    if (found !== undefined && (found.scope !== "database" || databaseIn(found) !== undefined)) return [];
    const remedy = /^database/i.test(word)
      ? `Write {{ database.NAME.PART }}, where PART is ${DATABASE_PROPERTIES.slice(0, -1).join(", ")} or ${DATABASE_PROPERTIES.at(-1)}.`
      : `Write {{ ${word.toLowerCase()}.KEY }}.`;
    return [{ text, remedy }];
  });

/** The value with its references to a database changed to another name or uuid. */
export const withDatabaseName = (value: string, from: string, to: string): string =>
  value.replace(REFERENCE, (reference, ...groups: readonly (string | undefined)[]) => {
    const found = databaseIn(parted(groups));
    return found?.name === from ? referenceText(databaseReference(to, found.property)) : reference;
  });

/** Whether the whole value is one reference. */
export const isShared = (value: string | null): boolean => value !== null && ONLY_REFERENCE.test(value);

/**
 * The value that this API family shows in `real_value`: references are replaced, and the result is quoted unless it
 * is a JSON object or list. Programs get the value of `interpolate`, byte for byte.
 */
export function realValue(
  env: { readonly value: string | null; readonly is_literal: boolean; readonly is_multiline: boolean },
  shared: SharedVariables,
): string | null {
  if (env.value === null) return null;
  const value = interpolate(env.value, shared);
  if (isJsonContainer(value)) return value;
  if (env.is_literal || env.is_multiline) return `'${value}'`;
  return value.replace(/[\\\r\t\0"']/g, (character) => ESCAPES[character] ?? character);
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\r": "\\r",
  "\t": "\\t",
  "\0": "\\0",
  '"': '\\"',
  "'": "\\'",
};

function isJsonContainer(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null;
  } catch {
    return false;
  }
}
