import { DomainError, type FieldErrors } from "../errors.ts";

/** Linux starts no program with a longer `NAME=value`: MAX_ARG_STRLEN is 131072 with the zero byte at its end. */
export const ENV_ENTRY_BYTES_MAX = 131_071;

/** Linux starts no program with more in all: a quarter of the stack, whose limit is 8 MiB unless somebody raised it. */
export const ENV_BYTES_MAX = 2 * 1024 * 1024;

/** Bytes of `NAME=value`, the form that a program gets. */
const entryBytes = (key: string, value: string): number => utf8.encode(`${key}=${value}`).length;

const isTooLong = (key: string, value: string): boolean =>
  // Encodes only long values: a UTF-16 unit takes at most three bytes in UTF-8.
  (key.length + value.length + 1) * 3 > ENV_ENTRY_BYTES_MAX && entryBytes(key, value) > ENV_ENTRY_BYTES_MAX;

/**
 * Problems by field, as in the answer to an invalid request. @param path Path of the variable in the body, such as
 * `data.3.`.
 */
export function entryProblems(
  { key, value }: { readonly key: string; readonly value?: string | null | undefined },
  path = "",
): FieldErrors {
  if (!isTooLong(key, value ?? "")) return {};
  return {
    [`${path}value`]: [
      `${key}=value has more than ${ENV_ENTRY_BYTES_MAX} bytes, so no program can be started with it.`,
    ],
  };
}

/**
 * @throws DomainError `deploy.start_failed` that names the first variable that is too long to start a program with, or
 *   when all of them are too long together
 */
export function requireStartable(env: Readonly<Record<string, string>>): void {
  const entries = Object.entries(env);
  const [key] = entries.find((entry) => isTooLong(...entry)) ?? [];
  if (key !== undefined) {
    const message = `The variable ${key} is too long: with its references replaced, ${key}=value has more than ${ENV_ENTRY_BYTES_MAX} bytes, so no program can be started with it. Shorten it, or mount a file, then deploy again.`;
    throw new DomainError("deploy.start_failed", message);
  }
  const total = entries.reduce((sum, entry) => sum + entryBytes(...entry), 0);
  if (total <= ENV_BYTES_MAX) return;
  const message = `The variables are too long: with their references replaced, they have more than ${ENV_BYTES_MAX} bytes together, so no program can be started with them. Shorten them, or mount a file, then deploy again.`;
  throw new DomainError("deploy.start_failed", message);
}

const utf8 = new TextEncoder();
