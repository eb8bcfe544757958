const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The position in the source of one in the built file, all counted from 0; `undefined` if the map has none. It reads the
 * text of the mappings up to there and keeps nothing: Node's `SourceMap` makes an array of each mapping, together some
 * 10 MB for a server, which would stay in memory after the first error.
 */
export function sourcePosition({ mappings, sources }, line, column) {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = DIGITS.indexOf(mappings[at++]);
      value |= (digit & 31) << shift;
      if (digit < 32) return value & 1 ? -(value >> 1) : value >> 1;
    }
  };
  const isEnd = () => at >= mappings.length || mappings[at] === "," || mappings[at] === ";";
  let [generatedLine, generatedColumn, source, sourceLine, sourceColumn] = [0, 0, 0, 0, 0];
  let found;
  while (at < mappings.length) {
    if (mappings[at] === ";") {
      generatedLine += 1;
      generatedColumn = 0;
      at += 1;
    } else if (mappings[at] === ",") {
      at += 1;
    } else {
      generatedColumn += number();
      if (generatedLine > line || (generatedLine === line && generatedColumn > column)) break;
      found = undefined;
      if (isEnd()) continue;
      source += number();
      sourceLine += number();
      sourceColumn += number();
      if (!isEnd()) number(); // The name.
      found = { source: sources[source], line: sourceLine, column: sourceColumn };
    }
  }
  return found;
}
