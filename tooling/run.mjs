// Runs `npm start` and `npm test`: works on Node 18 or newer with only npm, installs the workspace, and then continues
// with the Node version in the lockfile.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freshBuild } from "./build/fresh.mjs";
import { SERVER_ENV, SERVER_FLAGS } from "./server-flags.mjs";
import { supervise } from "./supervise.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");
const read = (file) => (existsSync(file) ? readFileSync(file, "utf8") : "");

const env = {
  ...process.env,
  PATH: bin + delimiter + process.env.PATH,
  TURBO_TELEMETRY_DISABLED: "1",
  npm_config_update_notifier: "false",
};

const TASKS = {
  start: () => {
    freshBuild("web"); // The server finds the build by itself.
    const argv = [...SERVER_FLAGS, join(freshBuild("server"), "main.js"), ...args];
    supervise("node", argv, { cwd: root, env: { ...SERVER_ENV, ...env } });
  },
  berth: () => hand("node", ["--", join(freshBuild("cli"), "main.js"), ...args], process.env.INIT_CWD),
  build: () => hand("node", ["tooling/build/main.mjs", ...args]),
  pack: () => hand("node", ["tooling/build/packages.mjs", ...args]),
  bench: () => hand("node", ["bench/main.ts", ...args]),
  faults: () => hand("node", ["apps/server/e2e/faults/main.ts", ...args]),
  test: () => (isWhole(args) ? hand("node", ["tooling/check.mjs", ...args]) : hand("vitest", ["run", ...args])),
  check: () => hand("node", ["tooling/check.mjs"]),
  lint: () => hand("biome", ["check", "."]),
  format: () => hand("biome", ["check", "--write", "."]),
  typecheck: () => hand("turbo", ["run", "typecheck", "typecheck:house", "--output-logs=errors-only"]),
  boundaries: () => hand("node", ["tooling/boundaries/check.mjs"]),
  openapi: () => hand("node", ["tooling/openapi/write.ts", ...args]),
  docs: () => hand("node", ["tooling/docs/write.ts", ...args]),
  unused: () => hand("knip", []),
};

/** Whether to run the static checks too: without arguments, and with `--changed`. */
const isWhole = ([first]) => first === undefined || first.startsWith("--changed");

const [task, ...args] = process.argv.slice(2);
if (!(task in TASKS)) {
  console.error(`Usage: node tooling/run.mjs ${Object.keys(TASKS).join(" | ")}`);
  process.exit(2);
}
install();
TASKS[task]();

/** pnpm copies the lockfile into node_modules at the end of an install, so equal content means up to date. */
function install() {
  const isFresh =
    read(join(root, "pnpm-lock.yaml")) === read(join(root, "node_modules/.pnpm/lock.yaml")) &&
    existsSync(join(bin, "pnpm"));
  if (isFresh) return;
  console.error("Installing what Berth needs (once; about half a minute on a first run)");
  const { pnpm } = JSON.parse(read(join(root, "package.json"))).devDependencies;
  const { status, stdout, stderr } = spawnSync("npx", ["--yes", `pnpm@${pnpm}`, "install", "--frozen-lockfile"], {
    cwd: root,
    // Not npm's default folder in /tmp: another user who creates it first could put code there.
    env: { ...env, CI: "true", NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node") },
    encoding: "utf8",
  });
  if (status !== 0) {
    console.error(`${stdout ?? ""}${stderr ?? ""}`);
    console.error("The install failed. Check that npm reaches its registry, then run the same command again.");
    process.exit(status ?? 1);
  }
}

/** Runs a program with the same terminal, and returns its exit code and signals. */
function hand(program, argv, cwd = root) {
  const child = spawn(program, argv, { cwd, env, stdio: "inherit" });
  // A terminal's Ctrl-C reaches the child directly, so relaying would send it twice. The child decides when to stop.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", ({ message }) => {
    console.error(message);
    process.exit(1);
  });
  child.on("exit", (code, signal) => process.exit(code ?? (signal ? 128 : 1)));
}
