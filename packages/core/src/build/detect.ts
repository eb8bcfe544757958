import { DomainError } from "../errors.ts";
import { earlyInstall } from "./early-install.ts";
import type { LanguageProject } from "./language.ts";
import { languageOf } from "./languages.ts";
import {
  buildScript,
  isNodeScript,
  needsInstall,
  nodeStart,
  type PackageManager,
  packageManagerOf,
  saysStart,
  staticFramework,
} from "./node-project.ts";
import { parsePackageJson } from "./package-json.ts";
import {
  argvStep,
  type BuildPlan,
  type BuildStep,
  type PlanConfig,
  type PlannedRun,
  type SourceFacts,
  scriptStep,
} from "./plan.ts";
import { plannedRuntime } from "./planned-runtime.ts";
import { procfileWeb, unrunTypes } from "./procfile.ts";
import { requirePrograms } from "./programs.ts";
import { runScript } from "./run-script.ts";
import { otherWays, unrecognised } from "./unrecognised.ts";

/** @throws DomainError as `findPlan` does, and `deploy.unrecognised` when nothing fits */
export function detectPlan(facts: SourceFacts, config: PlanConfig): BuildPlan {
  const plan = findPlan(facts, config);
  if (plan === undefined) throw unrecognised(facts, config);
  return plan;
}

/**
 * Decides how a source is built and started without containers. Explicit commands win over what is recognised; an empty
 * install or build command skips that step.
 * @returns `undefined` when nothing fits
 * @throws DomainError `engine.unsupported` for build packs that make images; `deploy.build_failed` when the server lacks
 *   a program
 */
export function findPlan(source: SourceFacts, config: PlanConfig): BuildPlan | undefined {
  refuseImages(config);
  const language = languageOf(source);
  const isScript = language === undefined && config.publish_directory === null && isNodeScript(source);
  const facts = isScript ? { ...source, packageJson: NO_PACKAGE } : source;
  const manager = facts.packageJson === undefined ? undefined : packageManagerOf(facts);
  const project: Project = { facts, config, manager, language };
  const start = findStart(project);
  if (start === undefined) return undefined;
  // The static build pack serves the files as they are, unless a build command is set.
  const isUnbuilt = config.build_pack === "static" && !config.build_command;
  const isPlain = start.source === "static files" || (isUnbuilt && start.run.type === "static");
  const used = usedParts(project, start, isPlain);
  const steps = [...installSteps(used), ...buildSteps(used)];
  // A user's own command may read any file.
  const early = config.install_command === null ? earlyInstall({ ...used, steps }) : undefined;
  requirePrograms(start.name, neededPrograms(used, start, steps), facts.missingPrograms);
  return {
    detected: `${start.name}${used.manager === undefined ? "" : ` (${used.manager.name})`}`,
    runtime: plannedRuntime(used),
    steps,
    early,
    run: start.run,
    warnings: [...(used.manager?.warnings ?? []), ...(used.language?.warnings ?? [])],
    notes: [
      ...otherWays(facts, start.source),
      // The application of a process type beside web has its command.
      ...(start.source === "command" ? [] : unrunTypes(facts.procfile)),
    ],
  };
}

/** What a program of Node without a package.json says about itself. */
const NO_PACKAGE = parsePackageJson("{}");

interface Project {
  readonly facts: SourceFacts;
  readonly config: PlanConfig;
  readonly manager: PackageManager | undefined;
  readonly language: LanguageProject | undefined;
}

interface Start {
  readonly name: string;
  readonly source: StartSource;
  readonly run: PlannedRun;
  /** What it is started with, beside what builds it. */
  readonly program?: string | undefined;
}

export type StartSource = "command" | "Procfile" | "language" | "package.json" | "static files";

function refuseImages({ build_pack }: PlanConfig): void {
  if (build_pack !== "dockerfile" && build_pack !== "dockercompose" && build_pack !== "dockerimage") return;
  throw new DomainError(
    "engine.unsupported",
    `The build pack ${build_pack} needs Docker, which this server does not use. ` +
      "Set build_pack to nixpacks or static, or deploy to a server with Docker.",
  );
}

function findStart(project: Project): Start | undefined {
  const { facts, config, language } = project;
  const command = config.start_command?.trim();
  if (config.build_pack === "static" || config.is_static) return staticSite(facts, config);
  if (command) return commandStart(command, { name: "Start command", source: "command" }, project);
  const web = procfileWeb(facts.procfile);
  if (web !== undefined) {
    const name = language === undefined ? "Procfile" : `${language.title.split(",", 1)[0]}, Procfile`;
    return commandStart(web, { name, source: "Procfile" }, project);
  }
  const node = () => nodeProject(project);
  const other = () => languageStart(project);
  const says = facts.packageJson !== undefined && saysStart(facts.packageJson);
  return (says ? (node() ?? other()) : (other() ?? node())) ?? plainSite(facts, config);
}

function commandStart(command: string, what: Pick<Start, "name" | "source">, project: Project): Start {
  const { facts, language } = project;
  const isNode = facts.packageJson !== undefined;
  const binFolders = [...(isNode ? nodeBins(facts) : []), ...(language?.bins ?? [])];
  const script = runScript(command, { binFolders, isNode, env: language?.env ?? {} });
  return { ...what, run: { type: "shell", script } };
}

function languageStart(project: Project): Start | undefined {
  const { start, title } = project.language ?? {};
  if (start === undefined || title === undefined) return undefined;
  return commandStart(start, { name: title, source: "language" }, project);
}

function nodeProject({ facts, config, manager }: Project): Start | undefined {
  const { packageJson } = facts;
  if (packageJson === undefined || manager === undefined) return undefined;
  const start = nodeStart(packageJson, facts, manager);
  if (start?.type === "static") {
    const { name, folders, isSpa } = start.framework;
    return { name: `${name}, static`, source: "package.json", run: published(config, folders, isSpa) };
  }
  if (start === undefined) return undefined;
  const script = runScript(start.command, { binFolders: nodeBins(facts), isNode: true });
  return { name: start.name, source: "package.json", run: { type: "shell", script }, program: start.program };
}

/** For sites that the user declared static. With a build step, its output folders are tried first. */
function staticSite(facts: SourceFacts, config: PlanConfig): Start {
  const framework = facts.packageJson === undefined ? undefined : staticFramework(facts.packageJson, facts);
  const isBuilt = config.build_pack !== "static" || Boolean(config.build_command);
  const built = [...new Set([...(framework?.folders ?? []), ...BUILT_FOLDERS])];
  const folders = isBuilt ? [...built, "."] : [".", ...BUILT_FOLDERS];
  const name = framework === undefined || !isBuilt ? "Static files" : `${framework.name}, static`;
  const source = facts.packageJson === undefined ? "static files" : "package.json";
  return { name, source, run: published(config, folders, (isBuilt && framework?.isSpa) ?? false) };
}

/** For sources without a program, but with files to serve. */
function plainSite(facts: SourceFacts, config: PlanConfig): Start | undefined {
  const hasIndex = facts.entries.includes("index.html");
  const folder = hasIndex ? "." : builtFolder(facts);
  if (folder === undefined && config.publish_directory === null) return undefined;
  const source = facts.packageJson === undefined ? "static files" : "package.json";
  return { name: "Static files", source, run: published(config, [folder ?? "."], false) };
}

/** The folder of a built site. None if the source has a program, which is started instead. */
function builtFolder(facts: SourceFacts): string | undefined {
  if (facts.packageJson !== undefined || languageOf(facts) !== undefined) return undefined;
  return BUILT_FOLDERS.find((folder) => facts.files.includes(`${folder}/index.html`));
}

const BUILT_FOLDERS = ["dist", "build", "out", "public", "_site"];

function published(config: PlanConfig, folders: readonly string[], isSpa: boolean): PlannedRun {
  const explicit = config.publish_directory;
  const isExplicit = explicit !== null && explicit.replace(/^\/+/, "") !== "";
  return {
    type: "static",
    folders: isExplicit ? [explicit] : folders,
    isExplicit,
    isSpa: config.is_spa || isSpa,
  };
}

/** Parts of a project that depend on how it starts. */
function usedParts(project: Project, { source }: Start, isPlain: boolean): Project {
  const { facts } = project;
  // Node builds assets of a page or of another language only if package.json has a build script.
  const hasNode = source !== "language" || (facts.packageJson !== undefined && buildScript(facts.packageJson));
  const hasLanguage = source === "language" || source === "Procfile" || source === "command";
  return {
    ...project,
    manager: isPlain || !hasNode ? undefined : project.manager,
    language: isPlain || !hasLanguage ? undefined : project.language,
  };
}

function installSteps({ facts, config, manager, language }: Project): BuildStep[] {
  const text = config.install_command?.trim();
  if (text !== undefined) return text === "" ? [] : [scriptStep("install", text)];
  const { packageJson, workspace } = facts;
  const node = packageJson !== undefined && manager !== undefined && needsInstall(packageJson, workspace);
  return [...(node ? [manager.install] : []), ...stepsOf(language, "install")];
}

function buildSteps({ facts, config, manager, language }: Project): BuildStep[] {
  const text = config.build_command?.trim();
  if (text !== undefined) return text === "" ? [] : [scriptStep("build", text)];
  const { packageJson } = facts;
  const own = stepsOf(language, "build");
  if (packageJson === undefined || manager === undefined) return own;
  const script = buildScript(packageJson);
  if (script !== undefined) return [argvStep("build", manager.run(script)), ...own];
  const framework = staticFramework(packageJson, facts);
  return framework === undefined ? own : [scriptStep("build", framework.build), ...own];
}

const stepsOf = (language: LanguageProject | undefined, name: BuildStep["name"]): BuildStep[] =>
  (language?.steps ?? []).filter((step) => step.name === name);

/** A user's own commands are not checked: a missing program fails when they run. */
function neededPrograms(
  { manager, language }: Project,
  { source, program }: Start,
  steps: readonly BuildStep[],
): string[] {
  const isLanguages = source === "language" || steps.some((step) => language?.steps.includes(step));
  const isBun = manager?.name === "bun" && (source === "package.json" || steps.some(({ argv }) => argv[0] === "bun"));
  const own = program === undefined ? [] : [program];
  return [...(isLanguages ? (language?.programs ?? []) : []), ...(isBun ? ["bun"] : own)];
}

/** Program folders of the base directory, and of the workspace above it. */
export const nodeBins = ({ workspace }: SourceFacts): string[] =>
  [...new Set([0, workspace.levelsUp])].map((levels) => `${"../".repeat(levels)}node_modules/.bin`);
