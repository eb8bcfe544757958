import type { z } from "zod";
import { ENV_VALUE_LENGTH_MAX } from "../env/env.ts";
import { isDatabase } from "./database-image.ts";
import { type EnvironmentEntry, environmentOf } from "./environment.ts";
import { foreignFiles } from "./host-access.ts";
import { composeKeyProblems } from "./keys.ts";
import { withTagsApplied } from "./merge.ts";
import { withoutContents } from "./mounted-content.ts";
import { recordOf } from "./record.ts";
import { replicasOf, replicasProblem, withInheritedScale } from "./replicas.ts";
import { ComposeDocument, type ComposeService } from "./schema.ts";
import { composeValueProblems } from "./value-problems.ts";
import { type UsedVariables, usedVariables } from "./variables.ts";
import { type ComposeVolume, volumeProblem, volumesOf } from "./volume.ts";
import { readWrittenJson, readYaml, type YamlValue } from "./yaml.ts";

/** Limit of a compose file, in characters. */
export const COMPOSE_LENGTH_MAX = 1_048_576;
const LINES_MAX = 50_000;
const CONTAINERS_MAX = 100;
const VOLUMES_MAX = 500;
const VARIABLES_MAX = 1000;
const URLS_MAX = 500;
/** A container's name is also a host name, after `-` and a uuid are added. */
const NAME_LENGTH_MAX = 63;

export interface ComposeContainer {
  /** Its key below `services`. */
  readonly name: string;
  readonly kind: "application" | "database";
  readonly image: string | null;
  /** Published ports as `host:container` pairs separated by commas. */
  readonly ports: string | null;
  readonly exposes: string | null;
  /** Number of containers, unless a variable sets it. */
  readonly replicas: number;
  /** Excluded from the status of the service: it runs once, is not started, or is marked as excluded. */
  readonly isExcluded: boolean;
  readonly volumes: readonly ComposeVolume[];
}

export interface Compose extends UsedVariables {
  readonly document: ComposeDocument;
  readonly containers: readonly ComposeContainer[];
  /** Environment of each container, by its name. */
  readonly environments: ReadonlyMap<string, readonly EnvironmentEntry[]>;
}

/** Reads a compose file. Never throws; `problems` are sentences that say what to change. */
export function parseCompose(text: string): Compose | { readonly problems: readonly string[] } {
  if (text.length > COMPOSE_LENGTH_MAX)
    return { problems: [`Must not be longer than ${COMPOSE_LENGTH_MAX} characters.`] };
  if (text.split("\n", LINES_MAX + 1).length > LINES_MAX) return { problems: [`Has more than ${LINES_MAX} lines.`] };
  return composeOf(readYaml(text));
}

/**
 * Reads a compose file that somebody writes now. Values that would only fail at a start are problems too; they are none
 * of files that Berth has stored, or built, before it judged them.
 */
export function parseNewCompose(text: string): Compose | { readonly problems: readonly string[] } {
  const compose = parseCompose(text);
  if ("problems" in compose) return compose;
  const problems = firstOf(composeValueProblems(compose.document), PROBLEMS_MAX);
  if (problems.length === 0) return compose;
  const yaml = readYaml(text);
  return { problems: "problem" in yaml ? problems : problems.map((problem) => withPlace(problem, yaml.placeOf)) };
}

/** Reads a compose file that Berth wrote itself, such as that of an artifact. */
export function parseWrittenCompose(text: string): Compose | { readonly problems: readonly string[] } {
  const written = readWrittenJson(text);
  return written === undefined ? parseCompose(text) : composeOf(written);
}

function composeOf(yaml: ReturnType<typeof readYaml>): Compose | { readonly problems: readonly string[] } {
  if ("problem" in yaml) return { problems: [yaml.problem] };
  const extended = withTagsApplied(yaml);
  if ("problem" in extended) return { problems: [extended.problem] };
  const parsed = ComposeDocument.safeParse(extended.value);
  const placed = (problems: readonly string[]) =>
    problems.slice(0, PROBLEMS_MAX).map((problem) => withPlace(problem, yaml.placeOf));
  if (!parsed.success) return { problems: placed(parsed.error.issues.slice(0, PROBLEMS_MAX).map(issueText)) };
  const document = parsed.data;
  const problems = firstOf(problemsOf(document), PROBLEMS_MAX);
  if (problems.length > 0) return { problems: placed(problems) };
  const environments = environmentsOf({ ...yaml, ...extended });
  const containers = Object.entries(document.services).map(([name, service]) =>
    containerOf(name, service, environments.get(name) ?? [], replicasOf(withInheritedScale(name, document)) ?? 1),
  );
  const applications = containers.filter(({ kind }) => kind === "application");
  const used = usedVariables({ environments, texts: textsOf(document), applications });
  const tooMuch = excessOf(containers, used);
  return tooMuch === undefined ? { document, containers, environments, ...used } : { problems: [tooMuch] };
}

function excessOf(containers: readonly ComposeContainer[], { variables, urls }: UsedVariables): string | undefined {
  const replicas = containers.reduce((sum, container) => sum + container.replicas, 0);
  if (replicas > CONTAINERS_MAX) return `Has more than ${CONTAINERS_MAX} containers.`;
  const volumes = containers.reduce((sum, container) => sum + container.volumes.length, 0);
  if (volumes > VOLUMES_MAX) return `Has more than ${VOLUMES_MAX} volumes.`;
  if (variables.length > VARIABLES_MAX) return `Uses more than ${VARIABLES_MAX} variables.`;
  if (urls.length > URLS_MAX) return `Asks for more than ${URLS_MAX} URLs.`;
  const long = variables.find(({ fallback }) => (fallback?.length ?? 0) > ENV_VALUE_LENGTH_MAX);
  return long && `The default of the variable ${long.key} is longer than ${ENV_VALUE_LENGTH_MAX} characters.`;
}

/** From the parsed YAML, which still has the comments. */
function environmentsOf({ value, notes }: YamlValue) {
  // It was validated by the schema, which returns a copy.
  const { services } = value as { readonly services: Readonly<Record<string, { readonly environment?: unknown }>> };
  return new Map(
    Object.entries(services).map(([name, { environment }]) => [name, environmentOf(environment, notes)] as const),
  );
}

/** All texts that the compose tool interpolates, except environments. */
function textsOf({ services, volumes, networks, configs, secrets }: ComposeDocument): readonly string[] {
  const others = Object.values(withoutContents(services)).map(({ environment: _, ...rest }) => rest);
  return [...textsIn([others, volumes, networks, configs, secrets]), ...namedVariables([configs, secrets])];
}

/** `secrets: { key: { environment: API_KEY } }` names a variable without a `$`. */
const namedVariables = (sections: readonly unknown[]): readonly string[] =>
  sections
    .flatMap((section) => Object.values(recordOf(section)))
    .flatMap((entry) => {
      const { environment } = recordOf(entry);
      return typeof environment === "string" ? [`\${${environment}}`] : [];
    });

/** All texts within a value that contain a `$`. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return value.includes("$") ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** At most this many are reported. */
const PROBLEMS_MAX = 20;

/** Adds the place in the file to a problem, which begins with a path. */
function withPlace(problem: string, placeOf: YamlValue["placeOf"]): string {
  const colon = problem.indexOf(": ");
  const place = colon === -1 ? "" : placeOf(problem.slice(0, colon));
  return place === "" ? problem : `${problem.replace(/\.$/, "")}.${place}`;
}

function issueText(issue: z.core.$ZodIssue): string {
  const { path, message } = exactly(issue);
  if (path.length === 0) return "Must be a map with the key services.";
  if (path.length === 1 && path[0] === "services") return "Needs a map named services with at least one container.";
  return `${path.map(String).join(".").slice(0, 200)}: ${message}`;
}

type Issue = Pick<z.core.$ZodIssue, "path" | "message">;

/** What fits none of several forms is reported for the entry that fits none, or with all forms. */
function exactly(issue: z.core.$ZodIssue): Issue {
  const forms = new Set(formsOf(issue));
  const [inside] = issue.code === "invalid_union" ? insideOf(issue) : [];
  if (inside !== undefined) {
    const { path, message } = exactly(inside);
    return { path: [...issue.path, ...path], message };
  }
  return forms.size === 0 ? issue : { path: issue.path, message: `Must be ${[...forms].join(", or ")}.` };
}

const insideOf = ({ errors }: z.core.$ZodIssueInvalidUnion) =>
  errors.flat().filter(({ path, code }) => path.length > 0 && code !== "unrecognized_keys");

/** The types that a value may have. */
function formsOf(issue: z.core.$ZodIssue): readonly string[] {
  if (issue.code === "invalid_union") return issue.errors.flat().flatMap(formsOf);
  const form = issue.code === "invalid_type" ? FORMS.get(issue.expected) : undefined;
  return form === undefined ? [] : [form];
}

const FORMS: ReadonlyMap<string, string> = new Map([
  ["string", "a text"],
  ["number", "a number"],
  ["boolean", "true or false"],
  ["null", "empty"],
  ["array", "a list"],
  ["record", "a map"],
  ["object", "a map"],
]);

function firstOf<T>(all: Iterable<T>, countMax: number): readonly T[] {
  const first: T[] = [];
  for (const one of all) if (first.push(one) === countMax) break;
  return first;
}

/** A generator, so that places are looked up only for the problems that are shown. */
function* problemsOf(document: ComposeDocument): Generator<string, void> {
  const entries = Object.entries(document.services);
  if (entries.length === 0) yield "Needs a map named services with at least one container.";
  if (entries.length > CONTAINERS_MAX) {
    yield `Has more than ${CONTAINERS_MAX} services.`;
    return;
  }
  for (const [name, service] of entries) yield* serviceProblems(name, service);
  yield* composeKeyProblems(document);
  yield* foreignFiles(document);
}

function serviceProblems(name: string, service: ComposeService): readonly string[] {
  const shown = name.slice(0, 100).replace(/\p{C}/gu, "?");
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || name.length > NAME_LENGTH_MAX) {
    const allowed = `letters, digits and . _ -, at most ${NAME_LENGTH_MAX}, beginning with a letter or digit`;
    return [`services.${shown}: A service's name may have only ${allowed}.`];
  }
  const hasSource = Boolean(service.image) || Boolean(service.build) || Boolean(service.extends);
  const sourceProblems = hasSource ? [] : [`services.${shown}: Needs an image.`];
  const volumeProblems = (service.volumes ?? []).flatMap((volume) => {
    const problem = volumeProblem(volume);
    return problem === undefined
      ? []
      : [`services.${shown}: The volume's ${problem} contains characters that are not allowed.`];
  });
  const count = replicasProblem(service);
  return [...sourceProblems, ...volumeProblems, ...(count === undefined ? [] : [`services.${shown}: ${count}`])];
}

function containerOf(
  name: string,
  service: ComposeService,
  entries: readonly EnvironmentEntry[],
  replicas: number,
): ComposeContainer {
  const image = service.image || null;
  return {
    name,
    kind: isDatabase(service, entries) ? "database" : "application",
    image,
    ports: (service.ports ?? []).map(portText).join(",") || null,
    exposes: (service.expose ?? []).map(String).join(",") || null,
    replicas,
    isExcluded: service.exclude_from_hc === true || isOnce(service) || isLeftOut(service),
    volumes: volumesOf(service.volumes ?? []),
  };
}

/** It is expected to exit. */
function isOnce({ restart, deploy }: ComposeService): boolean {
  if (restart !== undefined && restart !== null && restart !== "") return restart === "no" || restart === false;
  return deploy?.restart_policy?.condition === "none";
}

/** Started only on request, since it has a profile. */
const isLeftOut = (service: ComposeService): boolean =>
  (service.profiles ?? []).length > 0 || replicasOf(service) === 0;

function portText(port: NonNullable<ComposeService["ports"]>[number]): string {
  if (typeof port !== "object") return String(port);
  const { target, published, host_ip } = port;
  return [host_ip, published, target].filter((part) => part !== null && part !== undefined).join(":");
}
