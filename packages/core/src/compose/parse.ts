import { isDatabaseImage } from "./database-image.ts";
import { ComposeDocument, type ComposeService } from "./schema.ts";
import { type ComposeVolume, volumeProblem, volumesOf } from "./volume.ts";
import { readYaml } from "./yaml.ts";

/** Characters of a compose text. */
export const COMPOSE_LENGTH_MAX = 1_048_576;
const CONTAINERS_MAX = 100;
/** With `-` and a uuid behind it, a container's name is also a host name. */
const NAME_LENGTH_MAX = 63;

export interface ComposeContainer {
  /** Its key below `services`. */
  readonly name: string;
  readonly kind: "application" | "database";
  readonly image: string | null;
  /** Of the server, as `host:container` pairs separated by commas. */
  readonly ports: string | null;
  readonly exposes: string | null;
  /** Not counted in the status of the service. */
  readonly isExcluded: boolean;
  readonly volumes: readonly ComposeVolume[];
}

export interface Compose {
  readonly document: ComposeDocument;
  readonly containers: readonly ComposeContainer[];
}

/** Reads a compose text. Never throws; `problems` are sentences that say what to change. */
export function parseCompose(text: string): Compose | { readonly problems: readonly string[] } {
  if (text.length > COMPOSE_LENGTH_MAX)
    return { problems: [`Must not be longer than ${COMPOSE_LENGTH_MAX} characters.`] };
  const yaml = readYaml(text);
  if ("problem" in yaml) return { problems: [yaml.problem] };
  const parsed = ComposeDocument.safeParse(yaml.value);
  if (!parsed.success) return { problems: parsed.error.issues.slice(0, PROBLEMS_MAX).map(issueText) };
  const document = parsed.data;
  const problems = problemsOf(document);
  if (problems.length > 0) return { problems: problems.slice(0, PROBLEMS_MAX) };
  const containers = Object.entries(document.services).map(([name, service]) => containerOf(name, service));
  return { document, containers };
}

/** Told at once. */
const PROBLEMS_MAX = 20;

function issueText({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  if (path.length === 0) return "Must be a map with the key services.";
  if (path.length === 1 && path[0] === "services") return "Needs a map named services with at least one container.";
  return `${path.map(String).join(".").slice(0, 200)}: ${message}`;
}

function problemsOf({ services }: ComposeDocument): readonly string[] {
  const entries = Object.entries(services);
  if (entries.length === 0) return ["Needs a map named services with at least one container."];
  if (entries.length > CONTAINERS_MAX) return [`Has more than ${CONTAINERS_MAX} services.`];
  return entries.flatMap(([name, service]) => serviceProblems(name, service));
}

function serviceProblems(name: string, service: ComposeService): readonly string[] {
  const shown = name.slice(0, 100).replace(/\p{C}/gu, "?");
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name) || name.length > NAME_LENGTH_MAX) {
    const allowed = `letters, digits and . _ - only, at most ${NAME_LENGTH_MAX} of them, and begins with a letter or digit`;
    return [`services.${shown}: A service's name holds ${allowed}.`];
  }
  const hasSource = Boolean(service.image) || Boolean(service.build) || Boolean(service.extends);
  const sourceProblems = hasSource ? [] : [`services.${shown}: Needs an image.`];
  const volumeProblems = (service.volumes ?? []).flatMap((volume) => {
    const problem = volumeProblem(volume);
    return problem === undefined
      ? []
      : [`services.${shown}: The volume's ${problem} holds characters that are not allowed.`];
  });
  return [...sourceProblems, ...volumeProblems];
}

function containerOf(name: string, service: ComposeService): ComposeContainer {
  const image = service.image || null;
  return {
    name,
    kind: isDatabaseImage(image) ? "database" : "application",
    image,
    ports: (service.ports ?? []).map(portText).join(",") || null,
    exposes: (service.expose ?? []).map(String).join(",") || null,
    isExcluded: service.exclude_from_hc === true || service.restart === "no" || service.restart === false,
    volumes: volumesOf(service.volumes ?? []),
  };
}

function portText(port: NonNullable<ComposeService["ports"]>[number]): string {
  if (typeof port !== "object") return String(port);
  const { target, published, host_ip } = port;
  return [host_ip, published, target].filter((part) => part !== null && part !== undefined).join(":");
}
