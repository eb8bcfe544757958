// Makes the dashboard: what browsers load, with a compressed copy of each file beside it.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";
import { ROOT } from "./fresh.mjs";

/** Packages of the server. Their types are imported; code of theirs in a browser would be a mistake. */
const SERVER_CODE = /\/packages\/(api|control|db|engine|worker|host)\//;
const COMPRESSED = /\.(js|css|svg)$/;

/** @returns {Promise<string[]>} Paths of the bundled files, relative to the repository. */
export async function bundleWeb({ folder }, outdir) {
  const root = join(ROOT, folder);
  const inputs = [`${folder}/index.html`, `${folder}/vite.config.ts`];
  await build({
    root,
    configFile: join(root, "vite.config.ts"),
    logLevel: "warn",
    build: { outDir: outdir, emptyOutDir: false },
    plugins: [collectInputs(inputs)],
  });
  compressBelow(outdir);
  return inputs;
}

const collectInputs = (inputs) => ({
  name: "collect-inputs",
  generateBundle() {
    for (const id of this.getModuleIds()) {
      const path = id.split("?")[0];
      if (!path.startsWith(ROOT)) continue; // A module that a plugin makes.
      if (SERVER_CODE.test(path)) throw new Error(`The dashboard imports code of the server: ${path}`);
      inputs.push(relative(ROOT, path));
    }
  },
});

function compressBelow(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!COMPRESSED.test(name)) continue;
    const path = join(folder, name);
    const content = readFileSync(path);
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }; // 11 takes ten times as long for 8 % less.
    writeFileSync(`${path}.br`, brotliCompressSync(content, quality));
    writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  }
}
