/**
 * A document as the compose tool reads it, byte for byte: JSON, in which the characters are escaped that YAML would take
 * for line ends or refuse, and every `$` is doubled, since the tool takes a single one for the beginning of a variable.
 */
export const yamlText = (document: unknown): string =>
  JSON.stringify(document, (_key, value: unknown) =>
    typeof value === "string" ? value.replaceAll("$", "$$$$") : value,
  ).replace(/[\u007f-\u009f\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g, escaped);

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
