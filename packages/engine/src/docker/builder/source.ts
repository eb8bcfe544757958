import { createHmac, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import { type BuildPlan, findPlan, type SourceFacts, unrecognised as unrecognisedError } from "@berth/core/build";
import type { BuildConfig, BuildRequest } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { InWorkplace } from "../../builder/build-place.ts";
import { folderInside, readFacts } from "../../builder/facts.ts";
import { findPublishFolder } from "../../builder/publish-folder.ts";
import { hasCode, missingSource } from "../../builder/source-move.ts";
import { type ImageReplacements, replacedImage } from "./base-image.ts";
import type { BuildTarget } from "./build-target.ts";
import { dockerfileOf } from "./dockerfile-source.ts";
import { ENV_SECRET, envFile, planDockerfile } from "./plan-dockerfile.ts";
import type { KnownSteps } from "./progress.ts";
import { NGINX_SECRET, nginxConfiguration, siteDockerfile } from "./static-site.ts";
import { type BuildTool, findTool, isForTool, runTool, toolOf, type UsableTool } from "./tool.ts";
import type { ToolFetcher } from "./tool-fetcher.ts";

/** Source and settings of one build. */
export interface PreparedSource
  extends Pick<BuildTarget, "context" | "dockerfile" | "target" | "args" | "secrets" | "secretFiles"> {
  readonly steps?: KnownSteps;
}

export interface PreparePlace {
  /** A folder for this build alone. */
  readonly jobFolder: string;
  readonly path: string;
  readonly inWorkplace: InWorkplace;
  /** Folder of the key for the hashes that detect changed secrets. */
  readonly keyFolder: string;
  /** Images that the operator uses in Berth's own Dockerfiles. */
  readonly replacements: ImageReplacements;
  /** Fetches build tools that are not installed, where the operator wants that. */
  readonly fetcher?: ToolFetcher | undefined;
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

/**
 * By the tool of its build pack where that is installed, else as Berth itself knows how, else by the tool if it may be
 * fetched.
 */
async function recognised(source: Source): Promise<PreparedSource> {
  const { request, io, place, root, folder } = source;
  const { config } = request;
  // Static files are served by a stage of ours, whatever has built them.
  const installed = config.is_static ? undefined : await findTool(config, place.path);
  if (installed !== undefined) return await preparedByTool(source, installed);
  const facts = await readFacts(root, folder);
  const plan = findPlan(facts, config);
  const wanted = toolOf(config);
  if (plan === undefined) return await preparedByFetched(source, facts, wanted);
  if (wanted !== undefined) io.onLine(`Berth builds it itself, without ${wanted.name}`, "stdout");
  return await planned(source, facts, plan);
}

/** What Berth does not recognise may be known to a build tool. */
async function preparedByFetched(
  source: Source,
  facts: SourceFacts,
  tool: BuildTool | undefined,
): Promise<PreparedSource> {
  const { request, io, place } = source;
  if (tool === undefined) throw unrecognised(facts, request.config);
  if (place.fetcher === undefined) {
    throw unrecognised(
      facts,
      request.config,
      `Or install ${tool.name} on Berth's machine, which knows more kinds of projects: ${tool.install}`,
    );
  }
  io.onLine(`Berth does not recognise it. ${tool.name} knows more kinds of projects.`, "stdout");
  try {
    return await preparedByTool(source, await place.fetcher(tool, io, place.path));
  } catch (cause) {
    if (!isDomainError(cause, "deploy.build_failed")) throw cause;
    throw unrecognised(facts, request.config, cause.message, cause);
  }
}

/** @param more Another way, or why it was none. */
function unrecognised(facts: SourceFacts, config: BuildConfig, more?: string, cause?: unknown): DomainError {
  const { code, message } = unrecognisedError(facts, config);
  return new DomainError(code, more === undefined ? message : `${message} ${more}`, { cause });
}

async function preparedByTool(
  { request, io, place, root, folder }: Source,
  usable: UsableTool,
): Promise<PreparedSource> {
  const { tool, version } = usable;
  const { config, env } = request;
  const given = Object.fromEntries(Object.entries(env).filter(([name]) => isForTool(name)));
  io.onLine(`Prepares the build with ${tool.name}`, "stdout");
  const target = join(place.jobFolder, "tool");
  const { inWorkplace } = place;
  const made = await runTool(usable, { request, inWorkplace, root, folder, target, env: given }, io);
  const secretsHash = await keyedHash(place, [envFile(env)]);
  const args = tool.args({ secretsHash, cacheId: cacheIdOf(request), version });
  return {
    ...made,
    target: null,
    args: { ...env, ...args },
    secrets: { ...env, ...tool.env(config) },
    secretFiles: {},
  };
}

async function planned(
  { request, io, place, root, folder }: Source,
  facts: SourceFacts,
  plan: BuildPlan,
): Promise<PreparedSource> {
  const { env } = request;
  const { replacements } = place;
  const config = { ...request.config, static_image: replacedImage(request.config.static_image, replacements) };
  io.onLine(`Detected ${plan.detected}`, "stdout");
  for (const warning of plan.warnings) io.onLine(`Warning: ${warning}`, "stderr");
  for (const note of plan.notes) io.onLine(note, "stdout");
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
  const image = { plan, facts, config, env, way, secretsHash, cacheId: cacheIdOf(request), replacements };
  const { text, steps } = planDockerfile(image);
  return { ...common, context: root, dockerfile: await writeJobFile(place, "Dockerfile", text), steps };
}

/** The caches of package managers are an application's own; a forced build begins with empty ones. */
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
