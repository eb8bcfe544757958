// Imported first in every built program: stack traces then refer to source files. Maps are read at the first trace;
// Node's own --enable-source-maps reads them at the start and needs 10 MB of memory.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const FOLDER = import.meta.dirname;
const maps = new Map();

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
  const entry = dirname(file) === FOLDER ? mapOf(file)?.findEntry(line - 1, column - 1) : undefined;
  if (entry?.originalSource === undefined) return String(site);
  const source = relative(process.cwd(), join(FOLDER, entry.originalSource));
  return String(site).replace(`${url}:${line}:${column}`, () =>
    [source, entry.originalLine + 1, entry.originalColumn + 1].join(":"),
  );
}

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, readMap(`${file}.map`));
  return maps.get(file);
}

function readMap(path) {
  try {
    return new SourceMap(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined; // Without maps, a trace still shows positions in the build.
  }
}
