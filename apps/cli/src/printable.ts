import { stripVTControlCharacters } from "node:util";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const COLOR = /(\u001b\[[0-9;:]*m)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const OPEN_COLOR = /\u001b\[(?!0?m)[0-9;:]*m/;

/**
 * Makes foreign text (names, log lines) safe for one line: it cannot move the cursor, set the title or break the line.
 * Colours are removed.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, " ")
    .replace(CONTROL, "");
}

/** Like `printable`, but keeps a log line's colours, and removes text overwritten by carriage returns. */
export function printableLine(line: string, hasColors: boolean): string {
  const shown = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  if (!hasColors) return clean(shown);
  const text = shown
    .split(COLOR)
    // Odd parts are colours that the split captured.
    .map((part, index) => (index % 2 === 1 ? part : clean(part)))
    .join("");
  return OPEN_COLOR.test(text) ? `${text}\u001b[0m` : text;
}

const clean = (text: string) => stripVTControlCharacters(text).replace(CONTROL, "");
