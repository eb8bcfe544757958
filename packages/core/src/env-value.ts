/** Where a shared variable is kept. */
export const SHARED_SCOPES = ["team", "project", "environment", "server"] as const;
export type SharedScope = (typeof SHARED_SCOPES)[number];

/** Shared variables that a resource sees, by scope and key. */
export type SharedVariables = { readonly [Scope in SharedScope]?: ReadonlyMap<string, string> };

const REFERENCE = /\{\{\s*(team|project|environment|server)\.([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}/g;
const ONLY_REFERENCE = new RegExp(`^\\s*${REFERENCE.source}\\s*$`);

/** Replaces `{{ scope.KEY }}` wherever it stands; what is not known stays as it is. Values are not read again. */
export function interpolate(value: string, shared: SharedVariables): string {
  return value.replace(REFERENCE, (reference, scope: string, key: string) => {
    // The pattern admits only the scopes.
    return shared[scope as SharedScope]?.get(key) ?? reference;
  });
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
