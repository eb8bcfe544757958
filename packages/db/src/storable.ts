/** PostgreSQL's text cannot contain NUL or lone surrogates, but output of programs can. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

/** Applies `storable` to every text inside a value, as JSON. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? storable(part) : part));

/** Bytes as text, of which PostgreSQL makes bytes again by `decode(…, 'hex')`. */
export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
