export interface Span {
  readonly text: string;
  /** CSS classes, one for each active code. */
  readonly className: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
const SEQUENCE = /\x1b\[([0-9;?]*)([A-Za-z])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they would be shown as boxes.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** Parts of a line with their colours. Sequences that move the cursor are removed. */
export function spansOf(line: string): readonly Span[] {
  if (!line.includes("\x1b")) return [{ text: line.replace(CONTROL, ""), className: "" }];
  const spans: Span[] = [];
  let codes: readonly number[] = [];
  let from = 0;
  const push = (to: number) => {
    const text = line.slice(from, to).replace(CONTROL, "");
    if (text !== "") spans.push({ text, className: codes.map((code) => `sgr${code}`).join(" ") });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    push(match.index);
    from = match.index + match[0].length;
    if (match[2] === "m") codes = applied(codes, match[1] === "" ? [0] : (match[1] ?? "").split(";").map(Number));
  }
  push(line.length);
  return spans;
}

/** The line without colours: for searching and for downloads. */
export const plainText = (line: string): string => line.replace(SEQUENCE, "").replace(CONTROL, "");

const isColour = (code: number) => (code >= 30 && code <= 37) || (code >= 90 && code <= 97);
const STYLES: readonly number[] = [1, 2, 3, 4];

function applied(before: readonly number[], codes: readonly number[]): readonly number[] {
  let now = before;
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) now = [];
    else if (code === 38 || code === 48)
      index += codes[index + 1] === 5 ? 2 : 4; // 256 and more colours are not supported.
    else if (code === 22) now = now.filter((each) => each !== 1 && each !== 2);
    else if (code === 39) now = now.filter((each) => !isColour(each));
    else if (isColour(code)) now = [...now.filter((each) => !isColour(each)), code];
    else if (STYLES.includes(code) && !now.includes(code)) now = [...now, code];
  }
  return now;
}
