import { DomainError, type FieldErrors } from "../errors.ts";

/** Linux starts no program with a longer `NAME=value`: MAX_ARG_STRLEN is 131072 with the zero byte at its end. */
export const ENV_ENTRY_BYTES_MAX = 131_071;

/** Bytes of `NAME=value`, as a program gets it. */
const entryBytes = (key: string, value: string): number => utf8.encode(`${key}=${value}`).length;

const isTooLong = (key: string, value: string): boolean =>
  // Hardly any is near it, and encoding costs: no character has more than three bytes for each of its UTF-16 units.
  (key.length + value.length + 1) * 3 > ENV_ENTRY_BYTES_MAX && entryBytes(key, value) > ENV_ENTRY_BYTES_MAX;

/** By field, as requests are answered. @param path Where these stand in the body, such as `data.3.`. */
export function entryProblems(
  { key, value }: { readonly key: string; readonly value?: string | null | undefined },
  path = "",
): FieldErrors {
  if (!isTooLong(key, value ?? "")) return {};
  return { [`${path}value`]: [`${key}=value has more than ${ENV_ENTRY_BYTES_MAX} bytes: no program starts with it.`] };
}

/** @throws DomainError `deploy.start_failed` that names the first variable that no program starts with. */
export function requireStartable(env: Readonly<Record<string, string>>): void {
  const [key] = Object.entries(env).find((entry) => isTooLong(...entry)) ?? [];
  if (key === undefined) return;
  const message = `The variable ${key} is too long: with all that it refers to, ${key}=value has more than ${ENV_ENTRY_BYTES_MAX} bytes, and no program starts with that. Shorten it, or mount a file, then deploy again.`;
  throw new DomainError("deploy.start_failed", message);
}

const utf8 = new TextEncoder();
