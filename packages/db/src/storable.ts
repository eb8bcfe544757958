/** PostgreSQL's text cannot contain NUL or lone surrogates, but output of programs can. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

/** Applies `storable` to every text inside a value, as JSON. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? storable(part) : part));
