import { parseJsonObject } from "./json-object.ts";
import { has, type LanguageProject } from "./language.ts";
import { namesLocalFile } from "./local-file.ts";
import { needsInstall, type PackageManager } from "./node-project.ts";
import type { PackageJson } from "./package-json.ts";
import type { BuildStep, EarlyInstall, SourceFacts } from "./plan.ts";

/** What of a project is built, with its install steps. */
export interface InstalledParts {
  readonly facts: SourceFacts;
  readonly manager: PackageManager | undefined;
  readonly language: LanguageProject | undefined;
  readonly steps: readonly BuildStep[];
}

/**
 * The part of an installation that reads manifests and lockfiles alone. An image runs it before the other files are
 * copied, so that a change of those installs nothing anew.
 * @returns `undefined` where an installation may read any file, or would find its own output among the files
 */
export function earlyInstall({ facts, manager, language, steps }: InstalledParts): EarlyInstall | undefined {
  const { packageJson, workspace } = facts;
  const isNode = packageJson !== undefined && manager !== undefined && needsInstall(packageJson, workspace);
  const hasLanguage = language?.steps.some(({ name }) => name === "install") === true;
  const node = isNode ? nodeInstall(facts, packageJson, manager) : NOTHING;
  const other = hasLanguage ? language.early : NOTHING;
  if (node === undefined || other === undefined || (!isNode && !hasLanguage)) return undefined;
  const isDone = (step: BuildStep) => node.steps.includes(step) || other.steps.includes(step);
  return {
    files: [...node.files, ...other.files].filter((file) => facts.files.includes(file)),
    steps: [...node.steps, ...other.steps],
    later: steps.filter((step) => !isDone(step)),
  };
}

const NOTHING = { files: [], steps: [] };

/** With `binding.gyp` npm compiles the package itself; hooks of pnpm and files of Yarn may load any others. */
const NODE_BLOCKERS = ["node_modules/", ".yarn/", ".pnpmfile.cjs", "binding.gyp"];

/** Their install scripts look for files of the project: a schema, a configuration. */
const READING_DEPENDENCIES = ["prisma", "@prisma/client", "zenstack", "puppeteer", "msw"];

const INSTALL_SCRIPTS = /^((pre|post)?(install|prepare)|prepublish|dependencies|pnpm:devPreinstall)$/;

function nodeInstall(
  facts: SourceFacts,
  packageJson: PackageJson,
  manager: PackageManager,
): Omit<EarlyInstall, "later"> | undefined {
  const { workspace, texts } = facts;
  if (packageJson.hasWorkspaces || workspace.levelsUp > 0 || workspace.yarnPath !== undefined) return undefined;
  if (NODE_BLOCKERS.some((name) => has(facts, name))) return undefined;
  if ([...packageJson.scripts.keys()].some((name) => INSTALL_SCRIPTS.test(name))) return undefined;
  if (READING_DEPENDENCIES.some((name) => packageJson.dependencies.has(name))) return undefined;
  // A link has no text here, and its target is not copied.
  if (has(facts, "pnpm-workspace.yaml") && !isSettingsOnly(texts.get("pnpm-workspace.yaml"))) return undefined;
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, ...others } = parseJsonObject(
    texts.get("package.json") ?? "{}",
    "package.json",
  );
  const sources = [dependencies, devDependencies, optionalDependencies, peerDependencies];
  if ([...sources, others.overrides, others.resolutions, others.pnpm].some((one) => namesLocalFile(one)))
    return undefined;
  return { files: NODE_FILES, steps: [manager.install] };
}

const NODE_FILES = [
  ...["package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc", "pnpm-lock.yaml", "pnpm-workspace.yaml"],
  ...["yarn.lock", ".yarnrc", ".yarnrc.yml", "bun.lock", "bun.lockb", "bunfig.toml"],
  ...[".nvmrc", ".node-version", ".tool-versions"],
];

/** Settings of pnpm, without packages of a workspace and without patches, which are files. */
const isSettingsOnly = (text: string | undefined): boolean =>
  text !== undefined &&
  !/^[ \t]*["']?(packages|patchedDependencies|pnpmfile)["']?\s*:|\b(file|link|portal|workspace):/m.test(text);
