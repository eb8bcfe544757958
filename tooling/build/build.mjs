// Builds a program: its imports are bundled into a few JavaScript files beside the program's assets.
import { execFileSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { basename, join, relative } from "node:path";
import { build } from "esbuild";
import { distOf, MANIFEST, ROOT, settingsOf, stampOf } from "./fresh.mjs";
import { licensesOf } from "./licenses.mjs";
import { startLoad } from "./start-load.mjs";

/** A running server loads chunks of the build that it was started from. */
const BUILDS_KEPT = 4;

const PRINTED_BYTES_MAX = 16 * 1_048_576;

/** CommonJS packages expect these names, which modules lack. Modules may declare the same names themselves. */
const COMMON_JS = {
  banner: [
    'import{createRequire as berthRequire}from"node:module";',
    "const require=berthRequire(import.meta.url),",
    "berthDirname=import.meta.dirname,berthFilename=import.meta.filename;",
  ].join(""),
  define: { __dirname: "berthDirname", __filename: "berthFilename" },
};

/**
 * @param {import("./programs.mjs").Program} program
 * @returns {Promise<string>} The folder of the build.
 */
export async function buildProgram(program) {
  for (;;) {
    const startedMs = Date.now();
    const { folder, inputs } = await buildOnce(program);
    // A source that changed during the build may have been read before or after the change.
    if (!inputs.some((path) => changedMs(path) >= startedMs)) return folder;
  }
}

const changedMs = (path) => statSync(join(ROOT, path), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;

/** Files that determine how imports are resolved, and this tool itself. */
function surroundings() {
  const manifests = ["packages", "apps"].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}/package.json`),
  );
  const tool = readdirSync(join(ROOT, "tooling/build")).map((name) => `tooling/build/${name}`);
  return ["pnpm-lock.yaml", ...manifests, ...tool].filter((path) => existsSync(join(ROOT, path)));
}

async function buildOnce(program) {
  const dist = distOf(program);
  const temporary = join(dist, `.${randomUUID()}`);
  mkdirSync(temporary, { recursive: true });
  try {
    const inputs = await (program.entries === undefined ? bundleForBrowsers : bundle)(program, temporary);
    for (const [name, source] of Object.entries(program.assets ?? {})) {
      cpSync(join(ROOT, source), join(temporary, name), { recursive: true });
      inputs.push(...filesBelow(source));
    }
    for (const [name, { program: printer, source }] of Object.entries(program.generated ?? {})) {
      // In a process of its own, which reads its modules anew when a source has changed during the build.
      const printed = execFileSync(process.execPath, [join(ROOT, printer)], { maxBuffer: PRINTED_BYTES_MAX });
      writeFileSync(join(temporary, name), printed);
      inputs.push(...filesBelow(source));
    }
    const own = inputs.filter((path) => !path.includes("node_modules/"));
    writeFileSync(join(temporary, "LICENSES.txt"), licensesOf(inputs));
    const key = contentKey(temporary);
    const folder = join(dist, key);
    // The same content may have been built before, or by another process meanwhile.
    if (existsSync(folder)) rmSync(temporary, { recursive: true });
    else renameSync(temporary, folder);
    const read = [...new Set([...own, ...surroundings()])].sort();
    const stamps = read.map((path) => [path, stampOf(path)]);
    writeManifest(dist, { key, settings: settingsOf(program), inputs: Object.fromEntries(stamps) });
    removeOldBuilds(dist, key);
    return { folder, inputs: own };
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** Vite is loaded only for the dashboard. */
const bundleForBrowsers = async (program, outdir) => (await import("./web.mjs")).bundleWeb(program, outdir);

/** @returns Paths of the bundled files, relative to the repository. */
async function bundle({ entries, standalone = {}, external = [], target = "node24" }, outdir) {
  const options = {
    absWorkingDir: ROOT,
    outdir,
    bundle: true,
    format: "esm",
    platform: "node",
    target,
    conditions: ["berth-built"],
    external: [...external, "*.node", "cpu-features"],
    banner: { js: COMMON_JS.banner },
    define: COMMON_JS.define,
    inject: [join(ROOT, "tooling/build/stack-trace.mjs")],
    // V8 keeps the text of what it runs: short names inside save a quarter of it, and functions keep theirs for traces.
    minify: true,
    keepNames: true,
    legalComments: "none",
    sourcemap: "linked",
    sourcesContent: false,
    metafile: true,
    logLevel: "warning",
    plugins: [requiredBuiltins, withoutUnused, ownMapsOnly],
  };
  const builds = [
    build({ ...options, entryPoints: entries, splitting: true, chunkNames: "[name]-[hash]" }),
    ...Object.entries(standalone).map(([name, source]) => build({ ...options, entryPoints: { [name]: source } })),
  ];
  const results = await Promise.all(builds);
  for (const { metafile } of results) refuseNamelessImports(metafile);
  const loads = Object.entries(entries).map(([name, source]) => [name, startLoad(results[0].metafile, source)]);
  writeFileSync(join(outdir, "start-load.json"), JSON.stringify(Object.fromEntries(loads)));
  const files = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  return [...new Set(files)].filter((path) => !path.startsWith(`${BUILTIN}:`));
}

/** Fails for a CommonJS package that is imported lazily: in a bundle it only has a default export, unlike in Node. */
function refuseNamelessImports({ outputs }) {
  for (const { entryPoint, exports } of Object.values(outputs)) {
    if (!entryPoint?.includes("node_modules/") || exports.join() !== "default") continue;
    throw new Error(`import("…") of ${entryPoint} gets no names: import a module of your own that exports them`);
  }
}

/**
 * What packages import and Berth never uses, together two megabytes of script: BuildKit, archives of folders and SSH of
 * the Docker client, since Berth has its own ways to these; the languages of zod's messages; Fastify's validators, which `serverOptions`
 * replaces; its logger, since Berth has its own, and its simulated requests, which only tests send; glob, by which
 * `@fastify/static` lists files without a wildcard route.
 */
const UNUSED = [
  [/\/dockerode\/lib\/(session|buildkit)\.js$/, "module.exports = undefined;"],
  [/\/docker-modem\/lib\/ssh\.js$/, "module.exports = undefined;"],
  [/\/@fastify\/(ajv-compiler|fast-json-stringify-compiler)\/index\.js$/, "module.exports = undefined;"],
  [/\/fastify\/lib\/logger-pino\.js$/, "module.exports = undefined;"],
  [/\/tar-fs\/index\.js$/, "module.exports = undefined;"],
  [/\/light-my-request\/index\.js$/, "module.exports = undefined;"],
  [/\/glob\/dist\/commonjs\/index(\.min)?\.js$/, "exports.glob = undefined;"],
  [/\/zod\/v4\/locales\/index\.js$/, "export {};"],
];

const withoutUnused = {
  name: "without-unused",
  setup: ({ onLoad }) => {
    for (const [filter, contents] of UNUSED) onLoad({ filter }, () => ({ contents, loader: "js" }));
  },
};

const BUILTIN = "builtin";

/**
 * A module that imports `node:http` makes Node read all of its names, among them `WebSocket`, for which it loads its own
 * undici: 14 MB. `require` reads only the names that are used.
 */
const requiredBuiltins = {
  name: "required-builtins",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^[a-z]/ }, ({ path, kind }) =>
      kind === "import-statement" && isBuiltin(path) ? { path, namespace: BUILTIN } : undefined,
    );
    onLoad({ filter: /./, namespace: BUILTIN }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/** Positions in packages would be four fifths of the maps, which are held in memory. A trace names the file alone. */
const ownMapsOnly = {
  name: "own-maps-only",
  setup: ({ onLoad }) => {
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => {
      const map = JSON.stringify({ version: 3, sources: [basename(path)], mappings: "AAAA" });
      const comment = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString("base64")}`;
      return { contents: `${withNativeSpread(path)}\n${comment}`, loader: "default" };
    });
  },
};

/** tRPC is compiled for old engines: each of its copies of an object, some twenty a call, defines every key by itself. */
function withNativeSpread(path) {
  const text = readFileSync(path, "utf8");
  if (!/\/@trpc\/server\/dist\/[^/]*\.mjs$/.test(path)) return text;
  return text.replace(
    /^function _objectSpread2\(e\) \{\n.*?^\}$/ms,
    "function _objectSpread2(target, ...sources) {\n\treturn Object.assign(target, ...sources);\n}",
  );
}

/** Folders are listed too, so that added and removed files count as changes. */
function filesBelow(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  return [path, ...readdirSync(join(ROOT, path)).flatMap((name) => filesBelow(join(path, name)))];
}

function contentKey(folder) {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder, { recursive: true }).sort()) {
    const path = join(folder, name);
    if (statSync(path).isFile()) hash.update(relative(folder, path)).update(readFileSync(path));
  }
  return hash.digest("hex").slice(0, 16);
}

/** Written atomically, since other processes may read it at any time. */
function writeManifest(dist, manifest) {
  const temporary = join(dist, `.${randomUUID()}.json`);
  writeFileSync(temporary, JSON.stringify(manifest));
  renameSync(temporary, join(dist, MANIFEST));
}

function removeOldBuilds(dist, newest) {
  const builds = readdirSync(dist)
    .filter((name) => /^[0-9a-f]{16}$/.test(name) && name !== newest)
    .map((name) => ({ name, madeAt: statSync(join(dist, name)).mtimeMs }))
    .sort((a, b) => b.madeAt - a.madeAt);
  const old = builds.slice(BUILDS_KEPT - 1).map(({ name }) => join(dist, name));
  if (old.length === 0) return;
  // A running server loads parts of its build later, and is restarted from it after a crash.
  const running = runningCommands();
  for (const folder of old) {
    if (!running.some((command) => command.includes(folder))) rmSync(folder, { recursive: true, force: true });
  }
}

/** Command lines of this machine's processes; of none where the system does not list them as files. */
function runningCommands() {
  if (!existsSync("/proc")) return [];
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return ids.map((id) => {
    try {
      return readFileSync(`/proc/${id}/cmdline`, "utf8");
    } catch {
      // It has ended meanwhile.
      return "";
    }
  });
}
