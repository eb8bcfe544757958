import { DomainError, type FieldErrors, invalid, NOT_ALLOWED } from "@berth/core";

/** Deeper than any schema of Berth, but far from a stack overflow. */
export const DEPTH_MAX = 64;

/**
 * Refuses text that neither a database column nor an environment variable can contain (NUL, lone surrogates), keys
 * that would change an object's prototype, and nesting that would overflow the stack of later code.
 *
 * @throws DomainError `request.invalid` with the fields, `request.malformed` for the nesting
 */
export function assertStorable(input: unknown): void {
  const errors = new Map<string, string>();
  check(input, [], errors);
  if (errors.size === 0) return;
  throw invalid(Object.fromEntries([...errors].map(([field, text]) => [field, [text]])) satisfies FieldErrors);
}

function check(value: unknown, path: string[], errors: Map<string, string>): void {
  if (typeof value === "string") {
    const text = unstorable(value);
    if (text) errors.set(path.join(".") || "_", text);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (path.length >= DEPTH_MAX) {
    throw new DomainError("request.malformed", "Invalid request.", {
      details: { error: `Nested deeper than ${DEPTH_MAX} levels.` },
    });
  }
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    path.push(key);
    if (key === "__proto__") errors.set(printable(path.join(".")), NOT_ALLOWED);
    else if (unstorable(key)) errors.set(printable(path.join(".")), NOT_ALLOWED);
    // An own enumerable key, as `hasOwn` checked.
    else check((value as Record<string, unknown>)[key], path, errors);
    path.pop();
  }
}

function unstorable(text: string): string | undefined {
  if (text.includes("\0")) return "Must not contain the character NUL.";
  return text.isWellFormed() ? undefined : "Must be well-formed Unicode.";
}

const printable = (name: string) => name.toWellFormed().replaceAll("\0", "�");
