/** Programs write anything; PostgreSQL's text holds no NUL and no half of a character. */
export const storable = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

/** The same for every text inside a value, as JSON. */
export const storableJson = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? storable(part) : part));
