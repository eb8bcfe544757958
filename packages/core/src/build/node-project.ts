import type { Argv } from "../argv.ts";
import { DomainError } from "../errors.ts";
import { isDevelopmentServer, SERVER_FRAMEWORKS, STATIC_FRAMEWORKS, type StaticFramework } from "./frameworks.ts";
import { firstFile, isPage } from "./language.ts";
import type { PackageJson } from "./package-json.ts";
import { argvStep, type BuildStep, type SourceFacts, type WorkspaceFacts } from "./plan.ts";

/** Command lines of a project's package manager. */
export interface PackageManager {
  readonly name: "npm" | "pnpm" | "yarn" | "bun";
  readonly install: BuildStep;
  /** Runs one of the scripts of package.json. */
  run(script: string): Argv;
  readonly warnings: readonly string[];
  /** The project's own, which the server lacks. */
  readonly insteadOf?: "bun";
}

export function packageManagerOf({ workspace, packageJson, missingPrograms }: SourceFacts): PackageManager {
  const declared = workspace.packageManager?.name;
  const has = (file: string) => workspace.lockfiles.includes(file);
  const hasNpmLock = has("package-lock.json") || has("npm-shrinkwrap.json");
  if (declared === "pnpm") return pnpm(workspace);
  if (declared === "yarn") return yarn(workspace);
  if (declared === "npm" || hasNpmLock) return npm(hasNpmLock, []);
  if (has("pnpm-lock.yaml")) return pnpm(workspace);
  if (has("yarn.lock")) return yarn(workspace);
  const scripts = ["start", "build"].map((name) => packageJson?.scripts.get(name) ?? "");
  const development = packageJson?.scripts.has("start") ? "" : (packageJson?.scripts.get("dev") ?? "");
  const needsBun = scripts.some((script) => /^bunx? /.test(script)) || RUNS_FILE_WITH_BUN.test(development);
  const isLocked = has("bun.lock") || has("bun.lockb");
  if (!needsBun && !isLocked && declared !== "bun") return npm(false, []);
  if (needsBun || !missingPrograms.includes("bun")) return bun(isLocked);
  const warning =
    "bun is not installed on this server: npm installs the dependencies, without the versions of bun.lock.";
  return { ...npm(false, [warning]), insteadOf: "bun" };
}

/** `bun run --hot src/index.ts`: what is started by Bun while it is developed is written for Bun. */
const RUNS_FILE_WITH_BUN = /^bun (run )?(--[\w-]{1,40} ){0,9}[\w./-]{1,200}\.[jt]sx?$/;

function bun(isLocked: boolean): PackageManager {
  const install = argvStep("install", ["bun", "install", ...(isLocked ? ["--frozen-lockfile"] : [])]);
  return { name: "bun", install, warnings: [], run: (script) => ["bun", "run", script] };
}

function npm(isLocked: boolean, warnings: readonly string[]): PackageManager {
  const env = { npm_config_include: "dev" };
  const install = argvStep("install", ["npm", isLocked ? "ci" : "install"], env);
  return { name: "npm", install, warnings, run: (script) => ["npm", "run", script] };
}

function pnpm(workspace: WorkspaceFacts): PackageManager {
  const isLocked = workspace.lockfiles.includes("pnpm-lock.yaml");
  const version = pnpmVersion(workspace);
  const program: Argv = version === undefined ? ["pnpm"] : ["npx", "--yes", `pnpm@${version}`];
  // If the repository has no build rules, dependencies may run install scripts, as with npm and older pnpm.
  const isRuled = workspace.hasPnpmBuildRules || workspace.packageManager !== undefined;
  const env: Record<string, string> = isRuled ? {} : { pnpm_config_dangerously_allow_all_builds: "true" };
  return {
    name: "pnpm",
    install: argvStep("install", [...program, "install", ...(isLocked ? ["--frozen-lockfile"] : [])], env),
    run: (script) => [...program, "run", script],
    warnings: [],
  };
}

/** `undefined`: the version that the runtime contains, which is 12. */
function pnpmVersion({ packageManager, pnpmLockMajor = 9, hasPnpmSettings }: WorkspaceFacts): string | undefined {
  if (packageManager?.name === "pnpm")
    return Number.parseInt(packageManager.version, 10) < 12 ? packageManager.version : undefined;
  // Newer versions cannot read these old lockfiles; pnpm 11 ignores settings in package.json.
  if (pnpmLockMajor < 6) return "7";
  if (pnpmLockMajor < 9) return "8";
  return hasPnpmSettings ? "10" : undefined;
}

function yarn(workspace: WorkspaceFacts): PackageManager {
  const isLocked = workspace.lockfiles.includes("yarn.lock");
  const version = workspace.packageManager?.name === "yarn" ? workspace.packageManager.version : undefined;
  const isBerry = version === undefined ? workspace.yarnLock === "berry" : !/^[01]\./.test(version);
  if (!isBerry && workspace.yarnPath === undefined) {
    const flags = [...(isLocked ? ["--frozen-lockfile"] : []), "--production=false"];
    const install = argvStep("install", ["yarn", "install", ...flags]);
    return { name: "yarn", install, run: (script) => ["yarn", "run", script], warnings: [] };
  }
  const program: Argv =
    workspace.yarnPath === undefined
      ? ["npx", "--yes", `--package=@yarnpkg/cli-dist@${version ?? "4"}`, "yarn"]
      : ["node", workspace.yarnPath];
  // The start command looks for programs in node_modules/.bin, which Yarn's Plug'n'Play does not write.
  const env = { YARN_NODE_LINKER: "node-modules" };
  return {
    name: "yarn",
    install: argvStep("install", [...program, "install", ...(isLocked ? ["--immutable"] : [])], env),
    run: (script) => [...program, "run", script],
    warnings: [],
  };
}

/** Without dependencies and install scripts, no package manager needs to run. */
export function needsInstall(
  { dependencies, scripts, hasWorkspaces }: PackageJson,
  workspace: WorkspaceFacts,
): boolean {
  if (dependencies.size > 0 || hasWorkspaces || workspace.levelsUp > 0) return true;
  return ["preinstall", "install", "postinstall", "prepare"].some((script) => scripts.has(script));
}

/** Whether package.json defines how to start a server, which wins over another language in the folder. */
export function saysStart({ scripts, dependencies }: PackageJson): boolean {
  const start = scripts.get("start");
  if (start !== undefined && !isDevelopmentServer(start)) return true;
  return SERVER_FRAMEWORKS.some((row) => row.dependencies.every((name) => dependencies.has(name)));
}

/** How a Node project starts, the most explicit first. */
export type NodeStart =
  | { readonly type: "command"; readonly command: string; readonly name: string; readonly program?: "bun" }
  | { readonly type: "static"; readonly framework: StaticFramework }
  | undefined;

export function nodeStart(packageJson: PackageJson, facts: SourceFacts, manager: PackageManager): NodeStart {
  const { scripts, dependencies } = packageJson;
  const isBun = manager.name === "bun";
  const server = SERVER_FRAMEWORKS.find((row) => row.dependencies.every((name) => dependencies.has(name)));
  const name = server?.name ?? (isBun ? "Bun" : "Node.js");
  const start = scripts.get("start");
  const statics = staticFramework(packageJson, facts);
  if (statics?.name === "Next.js" || statics?.name === "Nuxt") return { type: "static", framework: statics };
  if (start !== undefined && !isDevelopmentServer(start)) {
    // npm runs start hooks whichever package manager installed the dependencies.
    const hasHooks = scripts.has("prestart") || scripts.has("poststart");
    return { type: "command", command: hasHooks ? `${isBun ? "bun" : "npm"} run start` : start, name };
  }
  if (server !== undefined) return { type: "command", command: server.start, name };
  if (dependencies.has("@sveltejs/kit") && statics?.name !== "SvelteKit") throw noAdapter();
  if (statics !== undefined) return { type: "static", framework: statics };
  if (start !== undefined) return { type: "command", command: start, name };
  const file = mainFile(packageJson, facts, isBun ? [...MAIN_FILES, ...TYPED_MAIN_FILES] : MAIN_FILES);
  if (file !== undefined) return { type: "command", command: `${isBun ? "bun" : "node"} ${quoted(file)}`, name };
  // npm installs in place of Bun, but Node does not run what Bun does.
  const typed = manager.insteadOf === "bun" ? mainFile(packageJson, facts, TYPED_MAIN_FILES) : undefined;
  return typed === undefined
    ? undefined
    : { type: "command", command: `bun ${quoted(typed)}`, name: "Bun", program: "bun" };
}

export function staticFramework(
  { dependencies, scripts }: PackageJson,
  facts: SourceFacts,
): StaticFramework | undefined {
  if (dependencies.has("next") && facts.isNextExport) return NEXT_EXPORT;
  if (dependencies.has("nuxt") && /\bnuxt generate\b/.test(scripts.get("build") ?? "")) return NUXT_GENERATE;
  return STATIC_FRAMEWORKS.find(({ dependency }) => dependencies.has(dependency));
}

const noAdapter = () =>
  new DomainError(
    "deploy.build_failed",
    "SvelteKit does not know how it will be run. Add @sveltejs/adapter-node (or adapter-static) to svelte.config.js.",
  );

const NEXT_EXPORT = { name: "Next.js", dependency: "next", build: "next build", folders: ["out"], isSpa: false };
const NUXT_GENERATE = {
  name: "Nuxt",
  dependency: "nuxt",
  build: "nuxt generate",
  folders: [".output/public", "dist"],
  isSpa: false,
};

/** Whether a folder without a package.json is a program of Node, and not a web page with scripts. */
export const isNodeScript = (facts: SourceFacts): boolean =>
  facts.packageJson === undefined && !isPage(facts) && firstFile(facts, MAIN_FILES) !== undefined;

/** The script `build`, or the name that templates of documentation sites use for it. */
export function buildScript({ scripts }: PackageJson): string | undefined {
  return ["build", "docs:build"].find((name) => scripts.has(name));
}

/** `main` may name a file that the build creates, so it counts even if it does not exist yet. */
function mainFile({ main }: PackageJson, { files }: SourceFacts, usual: readonly string[]): string | undefined {
  if (main !== undefined && !main.startsWith("-")) return main;
  return usual.find((file) => files.includes(file));
}

const MAIN_FILES = ["server.js", "server.mjs", "index.js", "index.mjs", "app.js"];
const TYPED_MAIN_FILES = ["server.ts", "index.ts", "app.ts", "src/server.ts", "src/index.ts"];

const quoted = (file: string) => (/^[\w@%+=:,./-]+$/.test(file) ? file : `'${file.replaceAll("'", `'\\''`)}'`);
