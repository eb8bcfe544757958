/**
 * Caddy replaces `{placeholders}` in nearly every text of its configuration, `{env.…}` and `{file.…}` among them. This
 * is the text that it turns into exactly `text`.
 */
export function literal(text: string): string {
  // Without an opening brace Caddy reads nothing in it, an escape neither.
  return text.includes("{") ? text.replace(/\{|(?<=\\)\}/g, "\\$&") : text;
}

/** A regular expression for exactly this text: RE2 has no quoting that holds for every character. */
export const quoted = (text: string): string =>
  text.replace(/[^\p{L}\p{N}/_-]/gu, (character) =>
    character.length === 1 && character < "\x80"
      ? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`
      : character,
  );
