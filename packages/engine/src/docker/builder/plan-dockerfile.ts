import { DomainError } from "@berth/core";
import { type BuildPlan, type BuildStep, nodeBins, type PlannedRun, type SourceFacts } from "@berth/core/build";
import type { BuildConfig } from "@berth/core/deploy";
import semver from "semver";
import type { KnownSteps } from "./progress.ts";
import { builtSiteInstructions } from "./static-site.ts";

/** Input of a generated Dockerfile, besides the plan. */
export interface PlannedImage {
  readonly plan: BuildPlan;
  readonly facts: SourceFacts;
  readonly config: BuildConfig;
  /** The base directory, relative to the source. */
  readonly way: string;
  /** Stands for what the build secrets hold: a step whose variables changed is not taken from the cache. */
  readonly secretsHash: string;
  /** Names the package managers' cache, which no other application shares. */
  readonly cacheId: string;
}

export interface PlannedDockerfile {
  readonly text: string;
  /** The commands behind its instructions, as a person would write them, by the marks that stand in these. */
  readonly steps: KnownSteps;
}

/**
 * A Dockerfile for a project that Berth recognises by itself. Variables come as the secret file `berth-env`, and every
 * text of a user is one element of a JSON array, which neither the Dockerfile nor a shell reads anything into.
 * @throws DomainError `deploy.build_failed` for a base directory that no image can work in
 */
export function planDockerfile(image: PlannedImage): PlannedDockerfile {
  const { plan, facts, config, way } = image;
  const base = baseImage(facts);
  const folder = folderOf(way);
  // Changed secrets change the mark, and with it what BuildKit recognises a cached step by.
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

/** The official image that has what the project runs on. */
export function baseImage({ packageJson, entries }: SourceFacts): string {
  if (packageJson !== undefined) return `node:${nodeMajor(packageJson.enginesNode)}-alpine`;
  if (entries.includes("requirements.txt") || entries.includes("pyproject.toml")) return "python:3.13-slim";
  return "debian:trixie-slim";
}

const NODE_MAJORS = [24, 22, 20, 18];

/** The newest line with long-term support that package.json agrees with. */
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

/** Package managers that a base image may lack. */
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
    // A build needs the development dependencies, which package managers leave out for production.
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

/** Moves the first folder that has an index.html to where the next stage takes it from. */
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
 * Variables as a shell reads them. What the image itself needs to find its programs stays as it is.
 * @param env Names that no shell takes are left out.
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
