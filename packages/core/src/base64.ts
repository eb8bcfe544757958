/**
 * The text of a field that may be sent in base64: canonical base64 is decoded, any other text is returned unchanged.
 *
 * @returns `undefined` if the decoded bytes are not UTF-8.
 */
export function decodeBase64Field(text: string): string | undefined {
  const bytes = canonicalBytes(text);
  if (bytes === undefined) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The problem of a field that cannot be decoded. */
export const BASE64_PROBLEM = "Must be plain text, or base64 of UTF-8 text.";

/** `undefined` when the text is not exactly what an encoder would write. */
function canonicalBytes(text: string): Uint8Array | undefined {
  if (text === "" || text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const binary = atob(text);
  if (btoa(binary) !== text) return undefined;
  // `Uint8Array.from` walks the text by its iterator, which takes fifty times as long.
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
