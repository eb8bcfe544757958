// Imported first in every built program: stack traces then refer to source files. A map is read for a position that was
// not asked for before, and not kept; Node's own --enable-source-maps reads all of them at the start and needs 10 MB.
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { sourcePosition } from "./source-position.mjs";

const FOLDER = import.meta.dirname;
const POSITIONS_MAX = 1000; // A program has far fewer places that errors come from.
const positions = new Map();

Error.prepareStackTrace = (error, sites) =>
  [headOf(error), ...sites.map((site) => `    at ${placeOf(site)}`)].join("\n");

function headOf(error) {
  try {
    return String(error);
  } catch {
    return "Error"; // Reading its message or name throws.
  }
}

/** A stack frame in V8's format, with the position in the source if known. */
function placeOf(site) {
  const url = site.getFileName();
  if (!url?.startsWith("file:")) return String(site);
  const file = fileURLToPath(url);
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
  const found = dirname(file) === FOLDER ? positionOf(file, line, column) : undefined;
  if (found === undefined) return String(site);
  return String(site).replace(`${url}:${line}:${column}`, () =>
    [relative(process.cwd(), join(FOLDER, found.source)), found.line + 1, found.column + 1].join(":"),
  );
}

function positionOf(file, line, column) {
  const key = `${file}:${line}:${column}`;
  if (!positions.has(key)) {
    if (positions.size >= POSITIONS_MAX) positions.clear();
    positions.set(key, readPosition(`${file}.map`, line - 1, column - 1));
  }
  return positions.get(key);
}

function readPosition(path, line, column) {
  try {
    return sourcePosition(JSON.parse(readFileSync(path, "utf8")), line, column);
  } catch {
    return undefined; // Without maps, a trace still shows positions in the build.
  }
}
