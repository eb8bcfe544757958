import { DomainError } from "@berth/core";
import type { BuildConfig } from "@berth/core/deploy";
import semver from "semver";
import { nodeBins } from "../../builder/detect.ts";
import type { BuildPlan, BuildStep, PlannedRun, SourceFacts } from "../../builder/plan.ts";
import type { KnownSteps } from "./progress.ts";
import { builtSiteInstructions } from "./static-site.ts";

/** Input of a generated Dockerfile, besides the plan. */
export interface PlannedImage {
  readonly plan: BuildPlan;
  readonly facts: SourceFacts;
  readonly config: BuildConfig;
  /** The base directory, relative to the root of the source. */
  readonly way: string;
  /** Hash of the build secrets, so that changed variables invalidate cached steps. */
  readonly secretsHash: string;
  /** Id of the package managers' cache, different for each application. */
  readonly cacheId: string;
}

export interface PlannedDockerfile {
  readonly text: string;
  /** For each mark in the Dockerfile, the command that the log shows in its place. */
  readonly steps: KnownSteps;
}

/**
 * A Dockerfile for a project that Berth recognised. Variables come from the secret file `berth-env`. Every text of a
 * user is one element of a JSON array, so that neither Docker nor a shell interprets it.
 * @throws DomainError `deploy.build_failed` for a base directory that no image can work in
 */
export function planDockerfile(image: PlannedImage): PlannedDockerfile {
  const { plan, facts, config, way } = image;
  const base = baseImage(facts);
  const folder = folderOf(way);
  // The mark contains the hash of the secrets, so that changed secrets invalidate BuildKit's cache.
  const steps = plan.steps.map((step, index) => ({ step, mark: `berth-step-${index}-${image.secretsHash}` }));
  const build = [
    `FROM ${base} AS build`,
    "WORKDIR /app",
    'COPY [".", "/app/"]',
    `WORKDIR ${folder}`,
    ...toolSteps(plan, image.cacheId),
    ...steps.map(({ step, mark }) => stepInstruction(step, mark, image, folder)),
  ];
  const run =
    plan.run.type === "shell"
      ? [`CMD ${JSON.stringify(["/bin/sh", "-c", plan.run.script])}`]
      : [publishInstruction(plan.run, way), ...builtSiteInstructions(config, image.secretsHash)];
  return {
    text: [...build, ...run, ""].join("\n"),
    steps: new Map(steps.map(({ step, mark }) => [mark, step])),
  };
}

/** The official image for the project's language and version. */
export function baseImage({ packageJson, entries }: SourceFacts): string {
  if (packageJson !== undefined) return `node:${nodeMajor(packageJson.enginesNode)}-alpine`;
  if (entries.includes("requirements.txt") || entries.includes("pyproject.toml")) return "python:3.13-slim";
  return "debian:trixie-slim";
}

const NODE_MAJORS = [24, 22, 20, 18];

/** The newest LTS major version that satisfies package.json. */
export function nodeMajor(range: string | undefined): number {
  const [newest = 24] = NODE_MAJORS;
  if (range === undefined || semver.validRange(range) === null) return newest;
  return NODE_MAJORS.find((major) => semver.intersects(range, `>=${major}.0.0 <${major + 1}.0.0-0`)) ?? newest;
}

function folderOf(way: string): string {
  if (!/^[\w.\-/@+~]*$/.test(way)) {
    const message = "The base directory's name has characters that images cannot work with. Rename the folder.";
    throw new DomainError("deploy.build_failed", message);
  }
  return way === "" ? "/app" : `/app/${way}`;
}

/** Installs package managers that a base image may lack. */
function toolSteps({ steps }: BuildPlan, cacheId: string): string[] {
  const programs = new Set(steps.map(({ argv }) => argv[0]));
  return TOOLS.filter(({ program }) => programs.has(program)).map(({ program, release }) => {
    const script = `command -v ${program} >/dev/null || npm install --global ${release}`;
    return `RUN ${cacheMount(cacheId)} ${JSON.stringify(["/bin/sh", "-c", script])}`;
  });
}

const TOOLS = [
  { program: "pnpm", release: "pnpm@10" },
  { program: "yarn", release: "yarn@1" },
] as const;

const cacheMount = (cacheId: string): string => `--mount=type=cache,id=${cacheId},target=/root/.npm`;

function stepInstruction(step: BuildStep, mark: string, { facts, cacheId }: PlannedImage, folder: string): string {
  const path = [...nodeBins(facts), ".venv/bin"].map((bin) => `$PWD/${bin}:`).join("");
  const script = [
    `. /run/secrets/${ENV_SECRET}`,
    // Builds need the development dependencies, which package managers skip with NODE_ENV=production.
    step.name === "build" ? FOR_PRODUCTION : WITH_DEVELOPMENT,
    ...(step.usesBins ? [`export PATH="${path}$PATH"`] : []),
    'exec "$@"',
  ].join(" && ");
  const env = Object.entries(step.env).map(([name, value]) => `${name}=${value}`);
  const argv = ["/bin/sh", "-c", `cd ${folder} && ${script}`, mark, "env", ...env, ...step.argv];
  return `RUN --mount=type=secret,id=${ENV_SECRET} ${cacheMount(cacheId)} ${JSON.stringify(argv)}`;
}

// biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own expansion.
const FOR_PRODUCTION = 'export NODE_ENV="${NODE_ENV:-production}"';
const WITH_DEVELOPMENT = '{ [ "$NODE_ENV" != production ] || unset NODE_ENV; }';

/** Moves the first folder with an index.html to the path that the next stage copies from. */
function publishInstruction(run: Extract<PlannedRun, { type: "static" }>, way: string): string {
  const script = run.isExplicit ? PUBLISH_NAMED : PUBLISH_FIRST;
  const folders = run.folders.map((folder) => folder.replace(/^\/+/, "") || ".");
  return `RUN ${JSON.stringify(["/bin/sh", "-c", script, way === "" ? "/app" : `/app/${way}`, ...folders])}`;
}

// The published folder must be inside the application's folder, also after following links.
const PUBLISH = 'real="$(realpath "$1")" && case "$real/" in /app/*) cp -R "$real" /berth-site && exit 0;; esac';
const PUBLISH_NAMED =
  `cd "$0" && [ -d "./$1" ] && set -- "./$1" && ${PUBLISH}; ` +
  'echo "The publish_directory is not a folder of the application after the build." >&2; exit 1';
const PUBLISH_FIRST =
  `cd "$0" && for pattern in "$@"; do for folder in ./$pattern; do if [ -f "$folder/index.html" ]; then set -- "$folder"; ${PUBLISH}; fi; done; done; ` +
  'echo "No index.html to serve was found after the build. Set publish_directory to the folder with the built files." >&2; exit 1';

export const ENV_SECRET = "berth-env";

/**
 * Variables in shell syntax. PATH and the like of the image stay unchanged.
 * @param env Names that are not valid in a shell are left out.
 */
export function envFile(env: Readonly<Record<string, string>>): string {
  const lines = Object.entries(env)
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name) && name !== "PATH" && name !== "HOME")
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`);
  return `${[...DEFAULTS, ...lines].join("\n")}\n`;
}

const DEFAULTS = [
  "export npm_config_audit='false'",
  "export npm_config_fund='false'",
  "export npm_config_update_notifier='false'",
  "export pnpm_config_pm_on_fail='ignore'",
  "export NEXT_TELEMETRY_DISABLED='1'",
];
