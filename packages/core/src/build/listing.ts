const SHOWN_NAMES_MAX = 10;

/** First names in a folder, for messages. */
export function listNames(names: readonly string[]): string {
  if (names.length === 0) return "nothing";
  const shown = [...names].sort().slice(0, SHOWN_NAMES_MAX);
  const more = names.length - shown.length;
  const text = shown.map((name) => name.replace(/\p{C}/gu, "?")).join(", ");
  return more === 0 ? text : `${text} and ${more} more`;
}
