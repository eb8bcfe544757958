// What a program loads before it works: the chunks that its entry reaches without a condition.

/**
 * @typedef {{ bytes: number, packages: string[] }} StartLoad Bytes of script, and the npm packages in it that Berth itself
 *   imports. Those that they bring along are left out, since they change with every update.
 */

/**
 * @param {import("esbuild").Metafile} metafile
 * @param {string} entry Source of the entry. What this file itself imports lazily, it imports at its start.
 * @returns {StartLoad}
 */
export function startLoad({ inputs, outputs }, entry) {
  const [first] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
  if (first === undefined) throw new Error(`${entry} is not an entry of this build`);
  const loaded = new Set();
  const load = (path) => {
    if (loaded.has(path) || outputs[path] === undefined) return;
    loaded.add(path);
    for (const { path: next, kind } of outputs[path].imports) {
      if (kind === "import-statement" || path === first) load(next);
    }
  };
  load(first);
  const chunks = [...loaded].map((path) => outputs[path]);
  const sources = new Set(chunks.flatMap((chunk) => Object.keys(chunk.inputs)));
  const imported = [...sources]
    .filter((source) => packageOf(source) === undefined)
    .flatMap((source) => inputs[source].imports)
    .filter(({ path, kind }) => kind === "import-statement" && sources.has(path));
  const packages = new Set(imported.flatMap(({ path }) => packageOf(path) ?? []));
  return { bytes: chunks.reduce((sum, { bytes }) => sum + bytes, 0), packages: [...packages].sort() };
}

const packageOf = (path) => path.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
