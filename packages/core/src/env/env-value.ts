import { ENV_ENTRY_BYTES_MAX } from "./env-size.ts";

/** The owners that a shared variable may have. */
export const SHARED_SCOPES = ["team", "project", "environment", "server"] as const;
export type SharedScope = (typeof SHARED_SCOPES)[number];

/** The first word of a reference: the owner of a shared variable, or `database` for `{{ database.NAME.url }}`. */
export type ReferenceScope = SharedScope | "database";

/** Values that the references of a resource have, by scope and key. */
export type SharedVariables = { readonly [Scope in ReferenceScope]?: ReadonlyMap<string, string> };

const REFERENCE =
  /\{\{\s*(?:(team|project|environment|server)\.([A-Za-z_][A-Za-z0-9_.]*)|(database)\.([^{}\r\n]{1,255}?\.url))\s*\}\}/g;
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

/** A reference of the form `{{ scope.KEY }}`. For a database the key is `NAME.url`, with its name or uuid. */
export interface SharedReference {
  readonly scope: ReferenceScope;
  readonly key: string;
}

/** The pattern admits only these scopes, and has two groups for each form. */
const parted = ([owner, variable = "", database, property = ""]: readonly (string | undefined)[]): SharedReference =>
  database === undefined ? { scope: owner as SharedScope, key: variable } : { scope: "database", key: property };

const URL_KEY = ".url";

/** The reference to a database's URL. @param name Its name or uuid. */
export const databaseReference = (name: string): SharedReference => ({ scope: "database", key: `${name}${URL_KEY}` });

/** The name or uuid in a reference to a database; `undefined` for other references. */
export const databaseNameIn = ({ scope, key }: SharedReference): string | undefined =>
  scope === "database" ? key.slice(0, -URL_KEY.length) : undefined;

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

/** The value with one of its references replaced by another, wherever it occurs. */
export const withReference = (value: string, from: SharedReference, to: SharedReference): string =>
  value.replace(REFERENCE, (reference, ...groups: readonly (string | undefined)[]) =>
    referenceText(parted(groups)) === referenceText(from) ? referenceText(to) : reference,
  );

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
