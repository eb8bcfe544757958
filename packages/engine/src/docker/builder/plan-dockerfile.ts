import { DomainError } from "@berth/core";
import { type BuildPlan, type BuildStep, nodeBins, type PlannedRun, type SourceFacts } from "@berth/core/build";
import type { BuildConfig } from "@berth/core/deploy";
import { type BaseImages, baseImages, type ImageReplacements } from "./base-image.ts";
import type { KnownSteps } from "./progress.ts";
import { builtSiteInstructions } from "./static-site.ts";

/** Input of a generated Dockerfile, besides the plan. */
export interface PlannedImage {
  readonly plan: BuildPlan;
  readonly facts: SourceFacts;
  readonly config: BuildConfig;
  /** Build variables, of which those that name images are read. */
  readonly env: Readonly<Record<string, string>>;
  /** The operator's images in place of the usual ones. */
  readonly replacements: ImageReplacements;
  /** The base directory, relative to the source. */
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
  const { plan, config, way } = image;
  const images = baseImages(plan, image.env, image.replacements);
  const folder = folderOf(way);
  // The mark contains the hash of the secrets, so that changed secrets invalidate BuildKit's cache.
  const { files, steps: first, later } = plan.early ?? { files: [], steps: [], later: plan.steps };
  const marked = [...first, ...later].map((step, index) => ({
    step,
    mark: `berth-step-${index}-${image.secretsHash}`,
  }));
  const run = (some: typeof marked) => some.map(({ step, mark }) => stepInstruction(step, mark, image, folder));
  const build = [
    ...(images.node === undefined ? [] : [`FROM ${images.node} AS node`]),
    `FROM ${images.build} AS build`,
    ...(images.node === undefined ? [] : NODE_INSTRUCTIONS),
    ...extensionInstructions(plan),
    `WORKDIR ${folder}`,
    ...toolSteps(plan, image.cacheId),
    ...earlyCopy(files, way, folder),
    ...run(marked.slice(0, first.length)),
    'COPY [".", "/app/"]',
    ...run(marked.slice(first.length)),
  ];
  const ending =
    plan.run.type === "shell"
      ? runInstructions(plan.run.script, images, folder)
      : [publishInstruction(plan.run, way), ...builtSiteInstructions(config, image.secretsHash)];
  return {
    text: [...build, ...ending, ""].join("\n"),
    steps: new Map(marked.map(({ step, mark }) => [mark, step])),
  };
}

/**
 * Manifests and lockfiles before everything else. Each name is a pattern, because BuildKit refuses a plain name that
 * `.dockerignore` leaves out, and a pattern without a match copies nothing.
 */
function earlyCopy(files: readonly string[], way: string, folder: string): string[] {
  const byFolder = Map.groupBy(files, (file) => file.slice(0, file.lastIndexOf("/") + 1));
  return [...byFolder].map(([below, own]) => {
    const patterns = own.map((file) => `${way === "" ? "" : `${way}/`}${file.slice(0, -1)}[${file.slice(-1)}]`);
    return `COPY ${JSON.stringify([...patterns, `${folder}/${below}`])}`;
  });
}

/** From the build's own folder where that is another image: what only the build needs does not come along. */
function runInstructions(script: string, images: BaseImages, folder: string): string[] {
  const stage = [`FROM ${images.run}`, 'COPY --from=build ["/app/", "/app/"]', `WORKDIR ${folder}`];
  return [
    ...(images.run === undefined ? [] : stage),
    // A check of the base image knows nothing of the application.
    "HEALTHCHECK NONE",
    `CMD ${JSON.stringify(["/bin/sh", "-c", script])}`,
  ];
}

const NODE_INSTRUCTIONS = [
  'COPY --from=node ["/usr/local/bin/node", "/usr/local/bin/"]',
  'COPY --from=node ["/usr/local/lib/node_modules/", "/usr/local/lib/node_modules/"]',
  `RUN ${JSON.stringify([
    "/bin/sh",
    "-c",
    'cd /usr/local/bin && for name in npm npx; do ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "$name"; done',
  ])}`,
];

/** The image of PHP installs extensions and composer by a program of its own. */
function extensionInstructions({ runtime }: BuildPlan): string[] {
  if (runtime === undefined || runtime.extensions.length === 0) return [];
  const script = 'if command -v install-php-extensions >/dev/null; then install-php-extensions "$@"; fi';
  return [`RUN ${JSON.stringify(["/bin/sh", "-c", script, "install", "@composer", ...runtime.extensions])}`];
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
const languageMount = (cacheId: string): string => `--mount=type=cache,id=${cacheId}-tools,target=${TOOL_CACHE}`;

function stepInstruction(
  step: BuildStep,
  mark: string,
  { plan, facts, cacheId }: PlannedImage,
  folder: string,
): string {
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
  const isNodeAlone = plan.runtime === undefined || plan.runtime.language === "node";
  const mounts = [cacheMount(cacheId), ...(isNodeAlone ? [] : [languageMount(cacheId)])].join(" ");
  return `RUN --mount=type=secret,id=${ENV_SECRET} ${mounts} ${JSON.stringify(argv)}`;
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

/** Where pip, uv, poetry, Go and composer keep theirs without being told. */
const TOOL_CACHE = "/root/.cache";

const DEFAULTS = [
  "export npm_config_audit='false'",
  "export npm_config_fund='false'",
  "export npm_config_update_notifier='false'",
  "export pnpm_config_pm_on_fail='ignore'",
  "export NEXT_TELEMETRY_DISABLED='1'",
  `export GOMODCACHE='${TOOL_CACHE}/go-mod'`,
  `export CARGO_HOME='${TOOL_CACHE}/cargo'`,
  `export CARGO_TARGET_DIR='${TOOL_CACHE}/cargo-target'`,
  `export GRADLE_USER_HOME='${TOOL_CACHE}/gradle'`,
  `export MAVEN_ARGS='-Dmaven.repo.local=${TOOL_CACHE}/maven'`,
];
