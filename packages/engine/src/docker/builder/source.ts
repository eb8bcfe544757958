import { createHmac, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import type { BuildConfig, BuildRequest } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { detectPlan } from "../../builder/detect.ts";
import { folderInside, readFacts } from "../../builder/facts.ts";
import type { BuildPlan, SourceFacts } from "../../builder/plan.ts";
import { findPublishFolder } from "../../builder/publish-folder.ts";
import { hasCode, missingSource } from "../../builder/source-move.ts";
import type { BuildTarget } from "./build-target.ts";
import { dockerfileOf } from "./dockerfile-source.ts";
import { ENV_SECRET, envFile, planDockerfile } from "./plan-dockerfile.ts";
import type { KnownSteps } from "./progress.ts";
import { NGINX_SECRET, nginxConfiguration, siteDockerfile } from "./static-site.ts";
import { type BuildTool, findTool, isForTool, runTool, toolOf } from "./tool.ts";

/** Source and settings of one build. */
export interface PreparedSource
  extends Pick<BuildTarget, "context" | "dockerfile" | "target" | "args" | "secrets" | "secretFiles"> {
  readonly steps?: KnownSteps;
}

export interface PreparePlace {
  /** A folder for this build alone. */
  readonly jobFolder: string;
  readonly path: string;
  /** Folder of the key for the hashes that detect changed secrets. */
  readonly keyFolder: string;
}

/** Decides how to build an image from a source, and writes the files for it beside the source. */
export async function prepareSource(request: BuildRequest, io: WorkIO, place: PreparePlace): Promise<PreparedSource> {
  try {
    const root = await folderInside(request.sourceFolder, "/", "base_directory");
    const folder = await folderInside(root, request.config.base_directory, "base_directory");
    const source = { request, io, place, root, folder };
    switch (request.config.build_pack) {
      case "dockerfile":
        return await ownDockerfile(source);
      case "static":
      case "nixpacks":
      case "railpack":
        return await recognised(source);
      default:
        throw new DomainError(
          "engine.unsupported",
          `The build pack ${request.config.build_pack} does not build a single image. Choose another one.`,
        );
    }
  } catch (cause) {
    throw hasCode(cause, "ENOENT") ? missingSource(cause) : cause;
  }
}

interface Source {
  readonly request: BuildRequest;
  readonly io: WorkIO;
  readonly place: PreparePlace;
  /** Real paths. */
  readonly root: string;
  readonly folder: string;
}

async function ownDockerfile({ request, place, root, folder }: Source): Promise<PreparedSource> {
  const { text, ignore } = await dockerfileOf(root, folder, request.config);
  const dockerfile = await writeJobFile(place, "Dockerfile", text);
  if (ignore !== undefined) await writeJobFile(place, "Dockerfile.dockerignore", ignore);
  return {
    context: folder,
    dockerfile,
    target: request.config.dockerfile_target_build || null,
    args: request.env,
    secrets: request.env,
    secretFiles: {},
  };
}

/** Uses the tool of the build pack where it is installed, else Berth's own detection. */
async function recognised(source: Source): Promise<PreparedSource> {
  const { request, io, place } = source;
  // Static files are always served by our own stage, whatever built them.
  const tool = request.config.is_static ? undefined : await findTool(request.config, place.path);
  if (tool !== undefined) return await preparedByTool(source, tool);
  const wanted = toolOf(request.config);
  if (wanted !== undefined) io.onLine(`Berth builds it itself, without ${wanted.name}`, "stdout");
  return await planned(source, wanted);
}

async function preparedByTool({ request, io, place, folder }: Source, tool: BuildTool): Promise<PreparedSource> {
  const { config, env } = request;
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => isForTool(name)));
  const toolPlace = { source: folder, out: join(place.jobFolder, "out"), config, variables: Object.keys(given) };
  io.onLine(`Prepares the build with ${tool.name}`, "stdout");
  await runTool(tool, toolPlace, io, { env: given, path: place.path, home: place.jobFolder });
  const secretsHash = await keyedHash(place, [envFile(env)]);
  const args = tool.args({ secretsHash, cacheId: cacheIdOf(request) });
  return {
    ...tool.made(toolPlace),
    target: null,
    args: { ...env, ...args },
    secrets: { ...env, ...tool.env(config) },
    secretFiles: {},
  };
}

async function planned(
  { request, io, place, root, folder }: Source,
  tool: BuildTool | undefined,
): Promise<PreparedSource> {
  const { config, env } = request;
  // The image decides whether python3 exists, not the control plane's machine.
  const facts = { ...(await readFacts(root, folder, place.path)), hasPython: true };
  const plan = planOf(facts, config, tool);
  io.onLine(`Detected ${plan.detected}`, "stdout");
  for (const warning of plan.warnings) io.onLine(`Warning: ${warning}`, "stderr");
  const configuration = plan.run.type === "static" ? nginxConfiguration(config, plan.run.isSpa) : undefined;
  const variables = plan.steps.length > 0 ? envFile(env) : undefined;
  const secretFiles = {
    ...(configuration === undefined ? {} : { [NGINX_SECRET]: await writeJobFile(place, "nginx.conf", configuration) }),
    ...(variables === undefined ? {} : { [ENV_SECRET]: await writeJobFile(place, "env", variables) }),
  };
  const secretsHash = await keyedHash(place, [configuration ?? "", variables ?? ""]);
  const common = { target: null, args: {}, secrets: {}, secretFiles };
  if (plan.run.type === "static" && variables === undefined) {
    const context = join(folder, await findPublishFolder(root, folder, plan.run));
    return {
      ...common,
      context,
      dockerfile: await writeJobFile(place, "Dockerfile", siteDockerfile(config, secretsHash)),
    };
  }
  const way = relative(root, folder);
  const { text, steps } = planDockerfile({ plan, facts, config, way, secretsHash, cacheId: cacheIdOf(request) });
  return { ...common, context: root, dockerfile: await writeJobFile(place, "Dockerfile", text), steps };
}

/** @throws DomainError `deploy.build_failed` that names the tool which supports more kinds of projects. */
function planOf(facts: SourceFacts, config: BuildConfig, tool: BuildTool | undefined): BuildPlan {
  try {
    return detectPlan(facts, config);
  } catch (cause) {
    if (tool === undefined || !isDomainError(cause, "deploy.build_failed")) throw cause;
    const more = `Or install ${tool.name} on Berth's machine, which supports more kinds of projects: ${tool.install}`;
    throw new DomainError("deploy.build_failed", `${cause.message} ${more}`, { cause });
  }
}

/** Each application has its own package manager cache; a forced build gets an empty one. */
const cacheIdOf = ({ resourceUuid, deploymentUuid, isForced }: BuildRequest): string =>
  `berth-${resourceUuid}${isForced ? `-${deploymentUuid}` : ""}`;

async function writeJobFile({ jobFolder }: PreparePlace, name: string, text: string): Promise<string> {
  const file = join(jobFolder, name);
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

/** Keyed, because the hash is part of the image's history: without a key a reader could guess the secrets. */
async function keyedHash({ keyFolder }: PreparePlace, texts: readonly string[]): Promise<string> {
  const key = await hashKey(join(keyFolder, "hash-key"));
  return createHmac("sha256", key).update(JSON.stringify(texts)).digest("hex").slice(0, 32);
}

async function hashKey(file: string): Promise<Buffer> {
  await writeFile(file, randomBytes(32), { mode: 0o600, flag: "wx" }).catch((cause: unknown) => {
    if (!hasCode(cause, "EEXIST")) throw cause;
  });
  return await readFile(file);
}
