import { join } from "node:path";
import { DomainError } from "@berth/core";
import { COMPOSE_LENGTH_MAX, interpolateCompose, mergeInSteps } from "@berth/core/compose";
import type { BuildRequest } from "@berth/core/deploy";
import { composeEnvFile } from "@berth/core/env";
import { inTurns } from "@berth/host";
import { folderInside } from "../../builder/facts.ts";
import { insideSource, readText, type StackSource } from "./source.ts";

/** The compose file stored in the settings, or the one in the source. */
export async function composeText(request: BuildRequest): Promise<{ text: string; source: StackSource | undefined }> {
  if (request.compose !== undefined) return { text: request.compose, source: undefined };
  const place = await commandPlace(request);
  const { composeFiles = [] } = request.config;
  if (composeFiles.length > 0) return await mergedText(place, composeFiles);
  const location = (request.config.docker_compose_location ?? DEFAULT_LOCATION).replace(/^\/+/, "");
  const file = await firstOf(place, [location, ...(location === "docker-compose.yaml" ? OTHER_NAMES : [])]);
  if (file === undefined) {
    const sentence = `Compose file ${location} is not in the source. Correct docker_compose_location or base_directory.`;
    throw new DomainError("deploy.build_failed", sentence);
  }
  return { text: await readText(file, location), source: { root: place.root, folder: join(file, "..") } };
}

/** Relative paths begin in the folder of the first file. */
async function mergedText(place: StackSource, paths: readonly string[]) {
  const parts: { path: string; text: string; folder: string }[] = [];
  for (const path of paths) {
    const file = await insideSource(place, path);
    if (file === undefined) {
      const sentence = `Compose file ${path}, named in the custom command, is not in the source.`;
      throw new DomainError("deploy.build_failed", sentence);
    }
    parts.push({ path, text: await readText(file, path), folder: join(file, "..") });
  }
  const merged = await inTurns(mergeInSteps(parts));
  const source = { root: place.root, folder: parts[0]?.folder ?? place.folder };
  if (!("problems" in merged)) return { text: merged.text, source };
  throw new DomainError("deploy.build_failed", `The compose files cannot be used: ${merged.problems.join(" ")}`);
}

/** Variables of the env files in the custom commands. Later files override earlier ones. */
export async function fileVariables(request: BuildRequest): Promise<Readonly<Record<string, string>>> {
  const { composeEnvFiles = [] } = request.config;
  if (composeEnvFiles.length === 0) return {};
  const place = await commandPlace(request);
  const variables = new Map<string, string>();
  let length = 0;
  for (const path of composeEnvFiles) {
    const file = await insideSource(place, path);
    if (file === undefined) {
      const sentence = `Env file ${path}, named in the custom command, is not in the source.`;
      throw new DomainError("deploy.build_failed", sentence);
    }
    for (const [key, value] of composeEnvFile(await readText(file, path), { isRaw: false })) {
      const lookUp = (name: string) => (Object.hasOwn(request.env, name) ? request.env[name] : variables.get(name));
      const text = interpolateCompose(value, lookUp);
      // Variables that each double the one before would exhaust the memory.
      length += key.length + text.length;
      if (length > COMPOSE_LENGTH_MAX) {
        const sentence = `The env files named in the custom command exceed ${COMPOSE_LENGTH_MAX} characters at ${path}. Shorten them.`;
        throw new DomainError("deploy.build_failed", sentence);
      }
      variables.set(key, text);
    }
  }
  return Object.fromEntries(variables);
}

/** The working directory of the custom commands. */
async function commandPlace({ sourceFolder, config }: BuildRequest): Promise<StackSource> {
  const root = await folderInside(sourceFolder, "/", "base_directory");
  return { root, folder: await folderInside(root, config.base_directory, "base_directory") };
}

async function firstOf(place: StackSource, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) {
    const found = await insideSource(place, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

const DEFAULT_LOCATION = "/docker-compose.yaml";
/** Default file names of the compose tool. */
const OTHER_NAMES = ["docker-compose.yml", "compose.yaml", "compose.yml"];
