import { DomainError } from "@berth/core";
import type { BuildConfig } from "@berth/core/deploy";
import { listNames } from "./listing.ts";
import {
  buildScript,
  needsInstall,
  nodeStart,
  type PackageManager,
  packageManagerOf,
  staticFramework,
} from "./node-project.ts";
import { argvStep, type BuildPlan, type BuildStep, type PlannedRun, type SourceFacts, scriptStep } from "./plan.ts";
import { runScript } from "./run-script.ts";

/**
 * Decides how a source is built and started without containers. Explicit commands win over detection; an empty install
 * or build command skips that step.
 * @throws DomainError `engine.unsupported` for build packs that make images; `deploy.build_failed` when nothing fits
 */
export function detectPlan(facts: SourceFacts, config: BuildConfig): BuildPlan {
  refuseImages(config);
  const start = findStart(facts, config);
  if (start === undefined) throw unrecognised(facts, config);
  const project: Project = {
    facts,
    config,
    manager: facts.packageJson === undefined ? undefined : packageManagerOf(facts.workspace),
  };
  // Static sites are served without a build unless a build command is set.
  const isUnbuilt = config.build_pack === "static" && !config.build_command;
  const isPlain = start.source === "static files" || (isUnbuilt && start.run.type === "static");
  return {
    detected: `${start.name}${isPlain || project.manager === undefined ? "" : ` (${project.manager.name})`}`,
    steps: [...installSteps(project, start, isPlain), ...buildSteps(project, isPlain)],
    run: start.run,
    warnings: isPlain ? [] : (project.manager?.warnings ?? []),
  };
}

interface Project {
  readonly facts: SourceFacts;
  readonly config: BuildConfig;
  readonly manager: PackageManager | undefined;
}

interface Start {
  readonly name: string;
  readonly source: "command" | "package.json" | "static files";
  readonly run: PlannedRun;
}

function refuseImages({ build_pack }: BuildConfig): void {
  if (build_pack !== "dockerfile" && build_pack !== "dockercompose" && build_pack !== "dockerimage") return;
  throw new DomainError(
    "engine.unsupported",
    `The build pack ${build_pack} needs Docker, which this server does not use. ` +
      "Set build_pack to nixpacks or static, or deploy to a server with Docker.",
  );
}

function findStart(facts: SourceFacts, config: BuildConfig): Start | undefined {
  const command = config.start_command?.trim();
  if (config.build_pack === "static" || config.is_static) return staticSite(facts, config);
  if (command) return commandStart(command, "Start command", facts);
  const web = procfileWeb(facts.procfile);
  if (web !== undefined) return commandStart(web, hasPythonProject(facts) ? "Python, Procfile" : "Procfile", facts);
  return nodeProject(facts, config) ?? plainSite(facts, config);
}

function commandStart(command: string, name: string, facts: SourceFacts): Start {
  const isNode = facts.packageJson !== undefined;
  const binFolders = [...(isNode ? nodeBins(facts) : []), ...(hasPythonProject(facts) ? [".venv/bin"] : [])];
  return { name, source: "command", run: { type: "shell", script: runScript(command, { binFolders, isNode }) } };
}

function nodeProject(facts: SourceFacts, config: BuildConfig): Start | undefined {
  const { packageJson } = facts;
  if (packageJson === undefined) return undefined;
  const start = nodeStart(packageJson, facts);
  if (start?.type === "static") {
    const { name, folders, isSpa } = start.framework;
    return { name: `${name}, static`, source: "package.json", run: published(config, folders, isSpa) };
  }
  if (start === undefined) return undefined;
  const script = runScript(start.command, { binFolders: nodeBins(facts), isNode: true });
  return { name: start.name, source: "package.json", run: { type: "shell", script } };
}

/** For applications marked as static. Where there is a build, its output folders are searched first. */
function staticSite(facts: SourceFacts, config: BuildConfig): Start {
  const framework = facts.packageJson === undefined ? undefined : staticFramework(facts.packageJson, facts);
  const isBuilt = config.build_pack !== "static" || Boolean(config.build_command);
  const built = [...new Set([...(framework?.folders ?? []), ...BUILT_FOLDERS])];
  const folders = isBuilt ? [...built, "."] : [".", ...BUILT_FOLDERS];
  const name = framework === undefined || !isBuilt ? "Static files" : `${framework.name}, static`;
  const source = facts.packageJson === undefined ? "static files" : "package.json";
  return { name, source, run: published(config, folders, (isBuilt && framework?.isSpa) ?? false) };
}

/** A folder with files to serve and nothing to run. */
function plainSite(facts: SourceFacts, config: BuildConfig): Start | undefined {
  const hasIndex = facts.entries.includes("index.html");
  if (!hasIndex && config.publish_directory === null) return undefined;
  const source = facts.packageJson === undefined ? "static files" : "package.json";
  return { name: "Static files", source, run: published(config, ["."], false) };
}

const BUILT_FOLDERS = ["dist", "build", "out", "public", "_site"];

function published(config: BuildConfig, folders: readonly string[], isSpa: boolean): PlannedRun {
  const explicit = config.publish_directory;
  const isExplicit = explicit !== null && explicit.replace(/^\/+/, "") !== "";
  return {
    type: "static",
    folders: isExplicit ? [explicit] : folders,
    isExplicit,
    isSpa: config.is_spa || isSpa,
  };
}

function installSteps({ facts, config, manager }: Project, start: Start, isPlain: boolean): BuildStep[] {
  const text = config.install_command?.trim();
  if (text !== undefined) return text === "" ? [] : [scriptStep("install", text)];
  if (isPlain) return [];
  const { packageJson, workspace } = facts;
  const node = packageJson !== undefined && manager !== undefined && needsInstall(packageJson, workspace);
  const isPython = start.source === "command" && hasPythonProject(facts);
  return [...(node ? [manager.install] : []), ...(isPython ? pythonSteps(facts) : [])];
}

function buildSteps({ facts, config, manager }: Project, isPlain: boolean): BuildStep[] {
  const text = config.build_command?.trim();
  if (text !== undefined) return text === "" ? [] : [scriptStep("build", text)];
  const { packageJson } = facts;
  if (isPlain || packageJson === undefined || manager === undefined) return [];
  const script = buildScript(packageJson);
  if (script !== undefined) return [argvStep("build", manager.run(script))];
  const framework = staticFramework(packageJson, facts);
  return framework === undefined ? [] : [scriptStep("build", framework.build)];
}

function pythonSteps({ entries, hasPython }: SourceFacts): BuildStep[] {
  if (!hasPython) {
    const message =
      "This is a Python application, but the server has no python3. Install python3 and python3-venv there.";
    throw new DomainError("deploy.build_failed", message);
  }
  const wanted = entries.includes("requirements.txt") ? ["-r", "requirements.txt"] : ["."];
  return [
    argvStep("install", ["python3", "-m", "venv", ".venv"]),
    argvStep("install", [".venv/bin/python", "-m", "pip", "install", "--disable-pip-version-check", ...wanted]),
  ];
}

const hasPythonProject = ({ entries }: SourceFacts): boolean =>
  entries.includes("requirements.txt") || entries.includes("pyproject.toml");

/** `node_modules/.bin` of the base directory, and of the workspace above it. */
export const nodeBins = ({ workspace }: SourceFacts): string[] =>
  [...new Set([0, workspace.levelsUp])].map((levels) => `${"../".repeat(levels)}node_modules/.bin`);

/** The command of the process type `web`. */
export function procfileWeb(procfile: string | undefined): string | undefined {
  return /^web[ \t]*:[ \t]*(\S.*?)[ \t\r]*$/m.exec(procfile ?? "")?.[1];
}

function unrecognised({ entries, packageJson }: SourceFacts, { base_directory }: BuildConfig): DomainError {
  const looked = packageJson === undefined ? "package.json" : "start script or main file in its package.json";
  return new DomainError(
    "deploy.build_failed",
    `It is not clear how to start this: ${base_directory} has no ${looked}, no Procfile and no index.html. ` +
      `It contains ${listNames(entries)}. Set start_command (for example: node server.js), publish_directory for a static ` +
      `site, or base_directory when the application is in another folder.${ofDocker(entries)}`,
  );
}

/** Suggests the folder's Dockerfile or compose file: Berth uses either only when the user selects it. */
function ofDocker(entries: readonly string[]): string {
  if (entries.includes("Dockerfile")) {
    return " To build it from its Dockerfile, set build_pack to dockerfile, on a server with Docker.";
  }
  const compose = entries.find((name) => /^(docker-)?compose\.ya?ml$/.test(name));
  if (compose === undefined) return "";
  return ` To run its ${compose}, set build_pack to dockercompose and docker_compose_location to /${compose}, on a server with Docker.`;
}
