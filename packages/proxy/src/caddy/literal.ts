/**
 * Escapes a text so that Caddy reads it literally: it replaces `{placeholders}` in nearly every text of its
 * configuration, including `{env.…}` and `{file.…}`.
 */
export function escapePlaceholders(text: string): string {
  // Without an opening brace Caddy interprets nothing, not even an escape.
  return text.includes("{") ? text.replace(/\{|(?<=\\)\}/g, "\\$&") : text;
}

/** A regular expression that matches exactly this text: RE2 has no quoting that covers every character. */
export const quoted = (text: string): string =>
  text.replace(/[^\p{L}\p{N}/_-]/gu, (character) =>
    character.length === 1 && character < "\x80"
      ? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`
      : character,
  );
