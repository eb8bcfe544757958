import type { StackArtifact } from "@berth/core/deploy";
import type { Cipher } from "./cipher.ts";

// A stack has secrets in its compose file and its mounted files. It is encrypted as a whole wherever it is part of a
// JSON value, so that it needs no column of its own.

const TYPE: StackArtifact["type"] = "stack";

/** @param place Identifies the row: a value encrypted for another row cannot be decrypted. */
export const sealStacks = <T>({ cipher }: WithCipher, value: T, place: string): T =>
  replaced(value, (stack) => ({
    type: TYPE,
    sealed: Buffer.from(cipher.seal(JSON.stringify(stack), place)).toString("base64"),
  }));

export const openStacks = <T>({ cipher }: WithCipher, value: T, place: string): T =>
  replaced(value, ({ sealed }) => {
    if (typeof sealed !== "string") return undefined;
    // It was an object when it was encrypted.
    return JSON.parse(cipher.open(Buffer.from(sealed, "base64"), place)) as object;
  });

interface WithCipher {
  readonly cipher: Cipher;
}

type Found = Readonly<Record<string, unknown>>;

/** A copy in which `replace` has replaced each stack. */
function replaced<T>(value: T, replace: (stack: Found) => object | undefined): T {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  // The copy has the same structure, so the type of the whole applies.
  if (Array.isArray(value)) return value.map((item) => replaced(item, replace)) as T;
  // Any object may be read by its keys.
  const found = value as Found;
  const stack = found.type === TYPE ? replace(found) : undefined;
  if (stack !== undefined) return stack as T;
  return Object.fromEntries(Object.entries(found).map(([key, item]) => [key, replaced(item, replace)])) as T;
}
