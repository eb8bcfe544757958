/**
 * JSON that the compose tool's YAML parser reads without changes: characters that YAML treats as line ends or rejects
 * are escaped, and every `$` is doubled, since a single one begins a variable.
 */
export const yamlText = (document: unknown): string =>
  JSON.stringify(document, (_key, value: unknown) =>
    typeof value === "string" ? value.replaceAll("$", "$$$$") : value,
  ).replace(/[\u007f-\u009f\u00a0\u2028\u2029\ufeff\ufffe\uffff]/g, escaped);

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
