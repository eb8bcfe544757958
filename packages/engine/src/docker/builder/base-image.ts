import { DomainError } from "@berth/core";
import type { BuildPlan, Language, PlannedRuntime } from "@berth/core/build";
import semver from "semver";

export interface BaseImages {
  /** In which the steps run. */
  readonly build: string;
  /** What the application starts in, where that is another one. */
  readonly run: string | undefined;
  /** Where Node is taken from for an image of another language. */
  readonly node: string | undefined;
}

/** Build variables of an application that name images in place of the usual ones. */
const BUILD_VARIABLE = "BERTH_BASE_IMAGE";
const RUN_VARIABLE = "BERTH_RUN_IMAGE";
const NODE_VARIABLE = "BERTH_NODE_IMAGE";

/** Images that the operator uses in place of Berth's own, by `REPOSITORY` for all its tags or by `REPOSITORY:TAG`. */
export type ImageReplacements = ReadonlyMap<string, string>;

/** The operator's image in place of a usual one; the tag is kept where only repositories are named. */
export function replacedImage(usual: string, replacements: ImageReplacements): string {
  const exact = replacements.get(usual);
  if (exact !== undefined) return exact;
  const [repository = usual, tag = "latest"] = usual.split(":");
  const other = replacements.get(repository);
  if (other === undefined) return usual;
  return /:[^/]*$/.test(other) ? other : `${other}:${tag}`;
}

/**
 * The official images that have what a plan runs on, unless the operator or the application's build variables name
 * others.
 * @throws DomainError `deploy.build_failed` for a variable that is not the name of an image
 */
export function baseImages(
  { runtime, steps }: Pick<BuildPlan, "runtime" | "steps">,
  env: Readonly<Record<string, string>>,
  replacements: ImageReplacements,
): BaseImages {
  const replaced = (image: string) => replacedImage(image, replacements);
  const usual = runtime === undefined ? { build: "debian:trixie-slim" } : IMAGES[runtime.language](runtime, steps);
  const own = named(env, BUILD_VARIABLE);
  return {
    build: own ?? replaced(usual.build),
    // An image that somebody chose to build in may have libraries that the usual one to run in has not.
    run: named(env, RUN_VARIABLE) ?? (own === undefined && usual.run !== undefined ? replaced(usual.run) : undefined),
    node: runtime?.needsNode ? (named(env, NODE_VARIABLE) ?? replaced(`node:${nodeMajor(undefined)}-slim`)) : undefined,
  };
}

type Usual = { readonly build: string; readonly run?: string };

/** Has TLS certificates and the libraries that compiled programs are usually linked with. */
const FOR_PROGRAMS = "buildpack-deps:trixie-curl";

const IMAGES: Readonly<Record<Language, (runtime: PlannedRuntime, steps: BuildPlan["steps"]) => Usual>> = {
  node: ({ version }) => ({ build: `node:${nodeMajor(version)}-alpine` }),
  bun: () => ({ build: "oven/bun:1" }),
  deno: () => ({ build: "denoland/deno:2" }),
  python: ({ version = "3.13" }) => ({ build: `python:${version}-slim` }),
  ruby: ({ version = "3.4" }) => ({ build: `ruby:${version}` }),
  php: () => ({ build: "dunglas/frankenphp:1-php8.4" }),
  elixir: ({ version = "1.18" }) => ({ build: `elixir:${version}` }),
  go: () => ({ build: "golang:1-trixie", run: FOR_PROGRAMS }),
  rust: () => ({ build: "rust:1-trixie", run: FOR_PROGRAMS }),
  java: ({ version = "21" }, steps) => ({ build: javaImage(version, steps), run: `eclipse-temurin:${version}-jre` }),
};

function javaImage(version: string, steps: BuildPlan["steps"]): string {
  const programs = steps.map(({ argv }) => argv[0]);
  if (programs.includes("mvn")) return `maven:3-eclipse-temurin-${version}`;
  if (programs.includes("gradle")) return `gradle:jdk${version}`;
  return `eclipse-temurin:${version}-jdk`;
}

function named(env: Readonly<Record<string, string>>, variable: string): string | undefined {
  const image = env[variable]?.trim();
  if (image === undefined || image === "") return undefined;
  // It becomes a line of the Dockerfile.
  if (/^[a-zA-Z0-9][\w.\-/:]{0,200}(@sha256:[a-f0-9]{64})?$/.test(image)) return image;
  throw new DomainError(
    "deploy.build_failed",
    `The build variable ${variable} is not the name of an image. Correct it (for example: python:3.13), or remove it.`,
  );
}

const NODE_MAJORS = [24, 22, 20, 18];

/** The newest line with long-term support that package.json agrees with. */
function nodeMajor(range: string | undefined): number {
  const [newest = 24] = NODE_MAJORS;
  if (range === undefined || semver.validRange(range) === null) return newest;
  return NODE_MAJORS.find((major) => semver.intersects(range, `>=${major}.0.0 <${major + 1}.0.0-0`)) ?? newest;
}
