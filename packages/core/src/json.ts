/**
 * The problem of a JSON text, found before it is parsed: nested brackets take twenty times their size in memory, and
 * a list of a million objects blocks the process for half a second. Only counts.
 * @returns `undefined`: it may be parsed.
 */
export function jsonProblem(json: string, valuesMax: number): string | undefined {
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) at = endOfText(json, at);
    else if (code === COMMA || code === BRACKET || code === BRACE) count += 1;
    if (count > valuesMax) return `Has more than ${valuesMax} values.`;
  }
  return undefined;
}

const [QUOTE, COMMA, BRACKET, BRACE, BACKSLASH] = [0x22, 0x2c, 0x5b, 0x7b, 0x5c];

function endOfText(json: string, quote: number): number {
  for (let at = quote + 1; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at;
  }
  return json.length;
}
