import { BASE64_PROBLEM, decodeBase64Field } from "../base64.ts";
import { customCommandProblem, differingFiles, readComposeCommand } from "../compose/custom-command.ts";
import { DomainError, isDomainError } from "../errors.ts";
import { sentFields } from "../input.ts";
import { limitProblems } from "../limits.ts";
import { DEFAULT_IMAGE_TAG, readDockerImage } from "../server/docker-image.ts";
import { parseGitRef, parseGitRevision, parseGitUrl } from "../source/git-source.ts";
import { ApplicationSecrets, ApplicationSettings } from "./application.ts";
import type { ApplicationCreate, ApplicationUpdate } from "./application-input.ts";
import { autoscalingProblems } from "./autoscaling.ts";
import type { BuildPack } from "./build-pack.ts";
import { labelProblems } from "./container-label.ts";
import { placementProblems } from "./node-placement.ts";
import { previewTemplateProblems } from "./preview.ts";
import { replicaProblems } from "./replicas.ts";
import { runOptionProblems } from "./run-options.ts";

export interface ApplicationChange {
  readonly settings: Partial<ApplicationSettings>;
  readonly secrets: Partial<ApplicationSecrets>;
  /** Problems of the sent fields, by field name; empty when all are valid. */
  readonly problems: Readonly<Record<string, readonly string[]>>;
}

const DEFAULT_SETTINGS = ApplicationSettings.parse({ build_pack: "nixpacks" });
const DEFAULT_SECRETS = ApplicationSecrets.parse({});

/** The fields that a request may set. The build pack of an image is fixed by its operation. */
type SentSettings = Omit<ApplicationCreate | ApplicationUpdate, "build_pack"> & {
  readonly build_pack?: BuildPack | null | undefined;
};

/**
 * Reads the settings and secrets of a request: null becomes the default, base64 becomes text, lists and image names
 * are normalised.
 *
 * @param current Stored settings of the application that is changed; the defaults for a new one.
 */
export function applicationChange(
  sent: SentSettings,
  current: ApplicationSettings = DEFAULT_SETTINGS,
): ApplicationChange {
  const decoded = decodeFields(sentFields(sent, DEFAULT_SETTINGS), ["custom_nginx_configuration"]);
  const secrets = decodeFields(sentFields(sent, DEFAULT_SECRETS), [
    "dockerfile",
    "custom_labels",
    "docker_compose_raw",
  ]);
  const image = imageFields(decoded.fields, current);
  const settings = { ...decoded.fields, ...tidied(decoded.fields), ...image.settings, ...cleared(sent) };
  return {
    settings,
    secrets: secrets.fields,
    problems: {
      ...decoded.problems,
      ...secrets.problems,
      ...image.problems,
      ...gitProblems(settings),
      ...portProblems(settings),
      ...limitProblems(settings),
      ...runOptionProblems(settings),
      ...labelProblems(secrets.fields),
      ...composeProblems(sent, { ...current, ...settings }),
      ...templateProblems(settings),
      ...autoscalingProblems({ ...current, ...settings }),
      ...replicaProblems({ ...current, ...settings }),
      ...placementProblems(settings),
    },
  };
}

/** Null is a value of its own where it differs from the default: CPU then decides nothing. */
const cleared = ({ autoscaling_cpu_percent }: SentSettings): Partial<ApplicationSettings> =>
  autoscaling_cpu_percent === null ? { autoscaling_cpu_percent } : {};

/** @param keys Fields that may be sent in base64. */
function decodeFields<Fields extends object>(sent: Fields, keys: readonly (keyof Fields & string)[]) {
  const fields = { ...sent };
  const problems: Record<string, readonly string[]> = {};
  for (const key of keys) {
    const text = sent[key];
    if (typeof text !== "string") continue;
    const decoded = decodeBase64Field(text);
    if (decoded === undefined || decoded.includes("\0")) problems[key] = [BASE64_PROBLEM];
    else Object.assign(fields, { [key]: decoded });
  }
  return { fields, problems };
}

function tidied({ custom_network_aliases: aliases }: Partial<ApplicationSettings>): Partial<ApplicationSettings> {
  if (typeof aliases !== "string") return {};
  const names = aliases.split(",").map((name) => name.trim().replace(/\s+/g, "-"));
  return { custom_network_aliases: [...new Set(names.filter(Boolean))].join(",") || null };
}

type ImageSettings = Partial<Pick<ApplicationSettings, "docker_registry_image_name" | "docker_registry_image_tag">>;

function imageFields(
  sent: Partial<ApplicationSettings>,
  current: ApplicationSettings,
): { readonly settings: ImageSettings; readonly problems: ApplicationChange["problems"] } {
  const { docker_registry_image_name: sentName, docker_registry_image_tag: sentTag } = sent;
  if (sentName === undefined && sentTag === undefined) return { settings: {}, problems: {} };
  const isImage = (sent.build_pack ?? current.build_pack) === "dockerimage";
  // A new tag replaces a digest, which is stored as part of the name.
  const name = sentName === undefined ? current.docker_registry_image_name?.replace(/@sha256$/, "") : sentName;
  if (!name) return { settings: {}, problems: isImage ? { docker_registry_image_name: [REQUIRED] } : {} };
  const alone = readDockerImage(name);
  const namesTag = "image" in alone && alone.image.tag !== null;
  const keepsTag = sentTag === undefined && !namesTag;
  const read = readDockerImage(name, keepsTag ? current.docker_registry_image_tag : sentTag);
  if ("problems" in read) return { settings: {}, problems: read.problems };
  const tag = read.image.tag ?? (isImage ? DEFAULT_IMAGE_TAG : null);
  return {
    settings: { docker_registry_image_name: read.image.name, docker_registry_image_tag: tag },
    problems: {},
  };
}

const REQUIRED = "This field is required.";

function gitProblems(settings: Partial<ApplicationSettings>) {
  return {
    ...problemOf("git_repository", settings.git_repository, readRepository),
    ...problemOf("git_branch", settings.git_branch, parseGitRef),
    ...problemOf("git_commit_sha", settings.git_commit_sha, parseGitRevision),
  };
}

function readRepository(text: string): void {
  // An application without a repository stores an empty string.
  if (text === "") return;
  const { scheme, username, password } = parseGitUrl(text);
  const hasLogin = scheme !== "ssh" && (username !== null || password !== null);
  if (hasLogin) throw new DomainError("source.invalid", LOGIN_PROBLEM);
}

const LOGIN_PROBLEM =
  "The address of the repository contains a login, which everyone who reads the application would see. Remove it.";

function problemOf(field: string, text: string | undefined, read: (text: string) => unknown) {
  if (text === undefined) return {};
  try {
    read(text);
    return {};
  } catch (error) {
    if (isDomainError(error, "source.invalid")) return { [field]: [error.message] };
    throw error;
  }
}

function portProblems({ ports_exposes, ports_mappings }: Partial<ApplicationSettings>) {
  const problems: Record<string, readonly string[]> = {};
  if (typeof ports_exposes === "string" && !ports_exposes.split(",").every(isPort)) {
    problems.ports_exposes = [NO_PORT];
  }
  if (typeof ports_mappings === "string") {
    const pairs = ports_mappings.split(",").map((pair) => pair.split(":"));
    const hosts = pairs.map(([host]) => host);
    if (!pairs.flat().every(isPort)) problems.ports_mappings = [NO_PORT];
    else if (new Set(hosts).size < hosts.length) problems.ports_mappings = ["Maps one port of the server twice."];
  }
  return problems;
}

const NO_PORT = "Ports are numbers from 1 to 65535.";
const isPort = (text: string): boolean => Number(text) >= 1 && Number(text) <= 65_535;

function composeProblems(sent: SentSettings, settings: ApplicationSettings): ApplicationChange["problems"] {
  if (settings.build_pack !== "dockercompose") {
    const hasUrls = (sent.docker_compose_domains ?? []).length > 0;
    return hasUrls ? { docker_compose_domains: ["Only for the build pack dockercompose. Use domains."] } : {};
  }
  const { docker_compose_custom_build_command: build, docker_compose_custom_start_command: start } = settings;
  const location = settings.docker_compose_location ?? DEFAULT_SETTINGS.docker_compose_location ?? "";
  const problems = {
    domains: sent.domains ? "Use docker_compose_domains for the build pack dockercompose." : undefined,
    docker_compose_custom_build_command: customCommandProblem("build", build, location),
    docker_compose_custom_start_command: startCommandProblem(build, start, location),
  };
  return Object.fromEntries(
    Object.entries(problems).flatMap(([field, problem]) => (problem ? [[field, [problem]]] : [])),
  );
}

function startCommandProblem(build: string | null, start: string | null, location: string): string | undefined {
  const [toBuild, toStart] = [
    readComposeCommand("build", build, location),
    readComposeCommand("start", start, location),
  ];
  if ("problem" in toStart) return toStart.problem;
  return "problem" in toBuild ? undefined : differingFiles(toBuild, toStart);
}

function templateProblems({ preview_url_template: template }: Partial<ApplicationSettings>) {
  const problems = template === undefined ? [] : previewTemplateProblems(template);
  return problems.length === 0 ? {} : { preview_url_template: problems };
}

/** Settings that lose their meaning when the build pack changes, reset to their defaults. */
export function resetsOf(before: BuildPack, after: BuildPack): Pick<ApplicationChange, "settings" | "secrets"> {
  if (before === after) return { settings: {}, secrets: {} };
  if (before === "dockercompose") {
    return { settings: { docker_compose_domains: null }, secrets: { docker_compose_raw: null } };
  }
  if (before !== "dockerfile") return { settings: {}, secrets: {} };
  return { settings: { dockerfile_location: null, dockerfile_target_build: null }, secrets: { dockerfile: null } };
}

/** Basic authentication needs both a name and a password, stored or sent. */
export function basicAuthProblems(
  settings: Pick<ApplicationSettings, "is_http_basic_auth_enabled" | "http_basic_auth_username">,
  secrets: Pick<ApplicationSecrets, "http_basic_auth_password">,
): Record<string, readonly string[]> {
  if (!settings.is_http_basic_auth_enabled) return {};
  const problems: Record<string, readonly string[]> = {};
  if (!settings.http_basic_auth_username) problems.http_basic_auth_username = [NEEDED_FOR_BASIC_AUTH];
  if (!secrets.http_basic_auth_password) problems.http_basic_auth_password = [NEEDED_FOR_BASIC_AUTH];
  return problems;
}

const NEEDED_FOR_BASIC_AUTH = "This field is required when is_http_basic_auth_enabled is true.";
