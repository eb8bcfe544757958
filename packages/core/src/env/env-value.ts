import { ENV_ENTRY_BYTES_MAX } from "./env-size.ts";

/** Where a shared variable is kept. */
export const SHARED_SCOPES = ["team", "project", "environment", "server"] as const;
export type SharedScope = (typeof SHARED_SCOPES)[number];

/** Shared variables that a resource sees, by scope and key. */
export type SharedVariables = { readonly [Scope in SharedScope]?: ReadonlyMap<string, string> };

const REFERENCE = /\{\{\s*(team|project|environment|server)\.([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}/g;
const ONLY_REFERENCE = new RegExp(`^\\s*${REFERENCE.source}\\s*$`);

/**
 * Replaces `{{ scope.KEY }}` wherever it stands; what is not known stays as it is. Values are not read again. What is
 * longer than any program can be started with is not made longer still: a few bytes of references may mean gigabytes.
 */
export function interpolate(value: string, shared: SharedVariables): string {
  let length = value.length;
  return value.replace(REFERENCE, (reference, scope: string, key: string) => {
    // The pattern admits only the scopes.
    const text = shared[scope as SharedScope]?.get(key);
    if (text === undefined || length > ENV_ENTRY_BYTES_MAX) return reference;
    length += text.length - reference.length;
    return text;
  });
}

/** A reference of the form `{{ scope.KEY }}`. */
export interface SharedReference {
  readonly scope: SharedScope;
  readonly key: string;
}

export const referenceText = ({ scope, key }: SharedReference): string => `{{ ${scope}.${key} }}`;

/** References in these values, each once, in order of appearance. */
export function referencesIn(values: Iterable<string | null>): readonly SharedReference[] {
  const found = new Map<string, SharedReference>();
  for (const value of values) {
    for (const [, scope = "", key = ""] of value?.matchAll(REFERENCE) ?? []) {
      // The pattern admits only the scopes.
      const reference = { scope: scope as SharedScope, key };
      found.set(referenceText(reference), reference);
    }
  }
  return [...found.values()];
}

/** Whether the whole value is one reference. */
export const isShared = (value: string | null): boolean => value !== null && ONLY_REFERENCE.test(value);

/**
 * The value as this API family shows it in `real_value`: shared references replaced, then quoted. JSON objects and lists
 * stay as they are. An environment gets the value of `interpolate`, byte for byte.
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
