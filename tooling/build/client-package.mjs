// The files of `@berth/client` as it is installed: one module, and its types without the sources that they come from.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { ROOT } from "./fresh.mjs";

/** Files of types, by what the compiler writes them from. */
const TYPES = {
  "index.d.ts": "packages/client/src/index.d.ts",
  "router.d.ts": "packages/api/src/root.d.ts",
  "problem-body.d.ts": "packages/api/src/problem-body.d.ts",
  "errors.d.ts": "packages/core/src/errors.d.ts",
};

/** Where the types of other packages are in this one. */
const API = [
  'export type { ProblemBody } from "./problem-body.js";',
  'export type { AppRouter } from "./router.js";',
  "",
];

/** The types of tRPC use these. A project that sets no libraries would not have them. */
const LIBRARIES = ["es2022", "esnext.disposable"].map((name) => `/// <reference lib="${name}" />\n`).join("");

export function clientFiles(folder) {
  buildSync({
    absWorkingDir: ROOT,
    entryPoints: ["packages/client/src/index.ts"],
    outdir: folder,
    bundle: true,
    packages: "external",
    format: "esm",
    platform: "neutral",
    target: "es2022",
    legalComments: "none",
    logLevel: "warning",
  });
  writeFileSync(join(folder, "api.d.ts"), API.join("\n"));
  const declarations = mkdtempSync(join(folder, ".types-"));
  compileTypes(declarations);
  for (const [name, source] of Object.entries(TYPES)) {
    const text = readFileSync(join(declarations, source), "utf8");
    const own = standalone(name === "router.d.ts" ? router(text) : text, name);
    writeFileSync(join(folder, name), name === "index.d.ts" ? LIBRARIES + own : own);
  }
  rmSync(declarations, { recursive: true });
}

function compileTypes(outDir) {
  const argv = ["-p", join(ROOT, "packages/client/tsconfig.types.json"), "--outDir", outDir];
  const { status, error } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), argv, { stdio: ["ignore", 2, 2] });
  if (status !== 0) throw new Error("The types of the client could not be made.", { cause: error });
}

/** Inputs and outputs of every operation are written out; what is the same in each of them is named once. */
function router(text) {
  const shape = /errorShape: (\{[^{}]*\{[^{}]*\};\s*\});/.exec(text)?.[1];
  if (shape === undefined) throw new Error("The router's type has no shape of errors.");
  const named = text
    .replace(/errorShape: \{[^{}]*\{[^{}]*\};\s*\};/g, "errorShape: ErrorShape;")
    .replace(/import\("\.\/trpc\.ts"\)\.(RequestContext|Meta)/g, "object");
  const problem = shape.replace(/import\("[^"]*"\)\.ProblemBody/, "ProblemBody");
  return `import type { ProblemBody } from "./problem-body.js";\ntype ErrorShape = ${problem};\n${named}`;
}

function standalone(text, name) {
  const own = text.replaceAll('"@berth/api"', '"./api.js"').replaceAll('"@berth/core"', '"./errors.js"');
  const foreign = /(?:from|import\() ?"(?!\.\/[\w-]+\.js"|@trpc\/|eventsource")[^"]*"/.exec(own)?.[0];
  if (foreign !== undefined) throw new Error(`${name} of the client's package refers to what is not in it: ${foreign}`);
  return own;
}
