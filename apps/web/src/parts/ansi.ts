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
const isBackground = (code: number) => (code >= 40 && code <= 47) || (code >= 100 && code <= 107);
const STYLES: readonly number[] = [1, 2, 3, 4];

function applied(before: readonly number[], codes: readonly number[]): readonly number[] {
  let now = before;
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) now = [];
    else if (code === 38 || code === 48) {
      const nearest = nearestColour(codes.slice(index + 1));
      now = now.filter((each) => !(code === 38 ? isColour : isBackground)(each));
      if (nearest !== undefined) now = [...now, nearest + (code - 38)];
      index += codes[index + 1] === 5 ? 2 : 4;
    } else if (code === 22) now = now.filter((each) => each !== 1 && each !== 2);
    else if (code === 39) now = now.filter((each) => !isColour(each));
    else if (code === 49) now = now.filter((each) => !isBackground(each));
    else if (isColour(code)) now = [...now.filter((each) => !isColour(each)), code];
    else if (isBackground(code)) now = [...now.filter((each) => !isBackground(each)), code];
    else if (STYLES.includes(code) && !now.includes(code)) now = [...now, code];
  }
  return now;
}

/**
 * The code of the nearest colour that has a class, which is readable in light and dark; `undefined` for greys.
 * @param codes What follows 38 or 48: `5;N` of 256 colours, or `2;R;G;B`.
 */
function nearestColour([kind, first = 0, green = 0, blue = 0]: readonly number[]): number | undefined {
  if (kind === 2) return colourOf([first, green, blue]);
  if (kind !== 5) return undefined;
  if (first < 16) return first < 8 ? 30 + first : 90 + first - 8;
  if (first >= 232) return undefined;
  const cell = first - 16;
  const parts = [Math.floor(cell / 36), Math.floor(cell / 6) % 6, cell % 6];
  return colourOf(parts.map((part) => (part === 0 ? 0 : 55 + 40 * part)));
}

/** Hues up to which each colour goes, in degrees. */
const HUES = [
  [20, 31],
  [70, 33],
  [165, 32],
  [200, 36],
  [265, 34],
  [340, 35],
  [360, 31],
] as const;
/** Below, a colour looks grey. */
const SATURATION_MIN = 0.2;

function colourOf([red = 0, green = 0, blue = 0]: readonly number[]): number | undefined {
  const most = Math.max(red, green, blue);
  const range = most - Math.min(red, green, blue);
  if (most === 0 || range / most < SATURATION_MIN) return undefined;
  const sector =
    most === red ? (green - blue) / range : most === green ? 2 + (blue - red) / range : 4 + (red - green) / range;
  const hue = (sector * 60 + 360) % 360;
  return HUES.find(([end]) => hue < end)?.[1];
}
