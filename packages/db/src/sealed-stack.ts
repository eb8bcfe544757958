import type { StackArtifact } from "@berth/core/deploy";
import type { Cipher } from "./cipher.ts";

// The compose text of a stack is a secret, and so are the files that its containers get. Wherever one stands in a value
// of JSON it is sealed as a whole, so that no column of its own is needed.

const TYPE: StackArtifact["type"] = "stack";

/** @param place Names the row: what was sealed for another one does not open. */
export const sealStacks = <T>({ cipher }: WithCipher, value: T, place: string): T =>
  replaced(value, (stack) => ({
    type: TYPE,
    sealed: Buffer.from(cipher.seal(JSON.stringify(stack), place)).toString("base64"),
  }));

export const openStacks = <T>({ cipher }: WithCipher, value: T, place: string): T =>
  replaced(value, ({ sealed }) => {
    if (typeof sealed !== "string") return undefined;
    // It was an object when it was sealed.
    return JSON.parse(cipher.open(Buffer.from(sealed, "base64"), place)) as object;
  });

interface WithCipher {
  readonly cipher: Cipher;
}

type Found = Readonly<Record<string, unknown>>;

/** With what `replace` makes of it in the place of each stack. */
function replaced<T>(value: T, replace: (stack: Found) => object | undefined): T {
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  // Readers of the whole get the replaced part at the same place.
  if (Array.isArray(value)) return value.map((item) => replaced(item, replace)) as T;
  // Any object may be read by its keys.
  const found = value as Found;
  const stack = found.type === TYPE ? replace(found) : undefined;
  if (stack !== undefined) return stack as T;
  return Object.fromEntries(Object.entries(found).map(([key, item]) => [key, replaced(item, replace)])) as T;
}
