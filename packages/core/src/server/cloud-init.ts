import { isMap, parseDocument } from "yaml";

const HEADER = "#cloud-config";
const BYTES_MAX = 32_768; // The limit of Hetzner.

/** The problem of a cloud-init text as a sentence; `undefined` when valid. */
export function cloudInitProblem(text: string): string | undefined {
  if (new TextEncoder().encode(cloudInitText(text)).length > BYTES_MAX) return "At most 32 KiB.";
  if (text.startsWith("#!")) return undefined;
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) return `Must be a script that begins with #!, or YAML: ${firstLine(error.message)}`;
  return isMap(document.contents)
    ? undefined
    : "Must be a script that begins with #!, or YAML with keys of cloud-init.";
}

/** Adds the first line that marks cloud-init's YAML: cloud-init ignores a text without a marker. */
export const cloudInitText = (text: string): string =>
  text.startsWith("#!") || text.startsWith(HEADER) ? text : `${HEADER}\n${text}`;

const firstLine = (text: string): string => text.split("\n", 1)[0]?.replace(/:$/, ".") ?? "";
