import { stripVTControlCharacters } from "node:util";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is about.
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const COLOR = /(\u001b\[[0-9;:]*m)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above.
const OPEN_COLOR = /\u001b\[(?!0?m)[0-9;:]*m/;

/**
 * Text from elsewhere (names, log lines), made fit for one line: nothing in it can move the cursor, set the title or
 * break out of its line. Colours go too.
 */
export function printable(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/[\r\n\t\u2028\u2029]+/g, " ")
    .replace(CONTROL, "");
}

/** A log line, as `printable`, but its own colours stay; what it overwrote with carriage returns goes. */
export function printableLine(line: string, hasColors: boolean): string {
  const shown = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
  if (!hasColors) return clean(shown);
  const text = shown
    .split(COLOR)
    // Every second part is a colour that the split kept.
    .map((part, index) => (index % 2 === 1 ? part : clean(part)))
    .join("");
  return OPEN_COLOR.test(text) ? `${text}\u001b[0m` : text;
}

const clean = (text: string) => stripVTControlCharacters(text).replace(CONTROL, "");
