// `node tooling/build/packages.mjs [--out FOLDER]`: packs what is installed from a registry, the client and the command
// line, as `npm pack` does. Publishes nothing.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { clientFiles } from "./client-package.mjs";
import { freshBuild, ROOT } from "./fresh.mjs";

const PACKAGES = {
  "packages/client": {
    name: "@berth/client",
    description: "Typed client of Berth's API, for Node, Bun and browsers",
    // As `eventsource` needs it.
    engines: { node: ">=22.12" },
    sideEffects: false,
    // `main` and `types` are for tools that do not know `exports`.
    main: "./index.js",
    types: "./index.d.ts",
    exports: { ".": { types: "./index.d.ts", default: "./index.js" }, "./package.json": "./package.json" },
    // What `@trpc/client` asks for beside itself is given by nobody else.
    dependencies: dependenciesOf("packages/client", ["@trpc/client", "@trpc/server", "eventsource"]),
    files: ["*.js", "*.d.ts"],
    fill: clientFiles,
  },
  "apps/cli": {
    name: "@berth/cli",
    description: "Command line of Berth: deploys folders and git repositories to servers of your own",
    // As its build needs it: `import.meta.dirname` is the newest of what it uses.
    engines: { node: ">=20.11" },
    bin: { berth: "main.js" },
    // It is a program. What it is made of is in the bundle.
    exports: { "./package.json": "./package.json" },
    files: ["*.js", "openapi.json", "LICENSES.txt"],
    fill: (folder) =>
      // Maps lead to sources that no installation has.
      cpSync(freshBuild("cli"), folder, { recursive: true, filter: (path) => !path.endsWith(".map") }),
  },
};

const { values } = parseArgs({ options: { out: { type: "string", default: join(ROOT, "dist") } } });
const out = resolve(process.env.INIT_CWD ?? ".", values.out);
mkdirSync(out, { recursive: true });
for (const source of Object.keys(PACKAGES)) console.log(pack(source, out));

/** @returns The path of the archive. */
function pack(source, out) {
  const { fill, ...manifest } = PACKAGES[source];
  const folder = join(ROOT, source, "dist/package");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  fill(folder);
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
  copyFileSync(join(ROOT, source, "package.md"), join(folder, "README.md"));
  const { version, license } = manifestOf(ROOT);
  const whole = { ...manifest, version, license, type: "module" };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(whole, null, 2)}\n`);
  const argv = ["pack", folder, "--pack-destination", out, "--json", "--loglevel", "error"];
  const { status, stdout, error } = spawnSync("npm", argv, { encoding: "utf8", stdio: ["ignore", "pipe", 2] });
  if (status !== 0) throw new Error(`npm could not pack ${source}.`, { cause: error });
  return join(out, JSON.parse(stdout)[0].filename);
}

/** As they are installed here, which is what the tests ran with. */
function dependenciesOf(source, names) {
  const versions = names.map((name) => [name, `^${manifestOf(join(ROOT, source, "node_modules", name)).version}`]);
  return Object.fromEntries(versions);
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}
