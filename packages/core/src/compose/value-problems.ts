import { recordOf } from "./record.ts";
import { replicasOf } from "./replicas.ts";
import type { ComposeDocument, ComposeService } from "./schema.ts";

/**
 * Values that the compose tool or the engine refuses only when the containers are started, as sentences. Values with
 * variables are known later, so they are not judged.
 */
export function* composeValueProblems({ services }: ComposeDocument): Generator<string, void> {
  for (const [name, service] of Object.entries(services)) {
    const path = `services.${shown(name)}`;
    yield* dependencyProblems(path, service, services);
    yield* checkProblems(path, service);
    yield* portProblems(path, service);
    if (!isRestartPolicy(service.restart))
      yield `${path}.restart: Must be "no", always, on-failure, on-failure:NUMBER or unless-stopped.`;
  }
  yield* sharedPorts(services);
}

function* dependencyProblems(path: string, { depends_on }: ComposeService, services: object): Generator<string, void> {
  const names = Array.isArray(depends_on) ? depends_on.map(String) : Object.keys(recordOf(depends_on));
  for (const name of names) {
    const { condition, required } = recordOf(recordOf(depends_on)[name]);
    if (!Object.hasOwn(services, name) && required !== false && isPlain(name))
      yield `${path}.depends_on: No service is called ${shown(name)}.`;
    if (typeof condition === "string" && isPlain(condition) && !CONDITIONS.has(condition))
      yield `${path}.depends_on.${shown(name)}.condition: Must be ${[...CONDITIONS].join(", ")}.`;
  }
}

const CONDITIONS: ReadonlySet<string> = new Set([
  "service_started",
  "service_healthy",
  "service_completed_successfully",
]);

function* checkProblems(path: string, { healthcheck }: ComposeService): Generator<string, void> {
  for (const [key, value] of Object.entries(recordOf(healthcheck))) {
    if (!DURATIONS.has(key) || typeof value !== "string" || !isPlain(value) || isDuration(value)) continue;
    yield `${path}.healthcheck.${key}: Must be a duration, such as 30s or 1m30s.`;
  }
}

const DURATIONS: ReadonlySet<string> = new Set(["interval", "timeout", "start_period", "start_interval"]);
const isDuration = (text: string): boolean =>
  text.length <= DURATION_LENGTH_MAX && /^(0|(\d+(\.\d*)?(ns|us|µs|ms|s|m|h|d|w))+)$/.test(text.trim());
const DURATION_LENGTH_MAX = 100;

function* portProblems(path: string, { ports }: ComposeService): Generator<string, void> {
  for (const [index, port] of (ports ?? []).entries()) {
    if (typeof port === "string" && isPlain(port) && !isMapping(port))
      yield `${path}.ports.${index}: Must be CONTAINER, HOST:CONTAINER or ADDRESS:HOST:CONTAINER with ports from 0 to 65535.`;
  }
}

function isMapping(text: string): boolean {
  const [, host = "", container = ""] = text.length > MAPPING_LENGTH_MAX ? [] : (MAPPING.exec(text.trim()) ?? []);
  return isPorts(container) && (host === "" || isPorts(host));
}

/** An address of the server, ports of it, ports of the container, a protocol. */
const MAPPING = /^(?:(?:[^/]*:)?([^:/]*):)?([^:/]+)(?:\/\w+)?$/;

const MAPPING_LENGTH_MAX = 100; // An IPv6 address with a zone, and two ranges.

const isPorts = (text: string): boolean => {
  const [first, last = first] = text.split("-").map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : Number.NaN));
  return first !== undefined && last !== undefined && first <= last && last <= PORT_MAX;
};
const PORT_MAX = 65_535;

const isRestartPolicy = (restart: ComposeService["restart"]): boolean =>
  typeof restart !== "string" || !isPlain(restart) || /^(|no|always|unless-stopped|on-failure(:\d+)?)$/.test(restart);

/** Only one container of a server can have a port. */
function* sharedPorts(services: ComposeDocument["services"]): Generator<string, void> {
  const takenBy = new Map<string, string>();
  const ended = new Set(Object.values(services).flatMap(awaitedEnds));
  for (const [name, service] of Object.entries(services)) {
    if (ended.has(name) || !runsBesideOthers(service)) continue;
    for (const [index, port] of (service.ports ?? []).entries()) {
      const host = typeof port === "string" ? /^(\d{1,5}):\d{1,5}$/.exec(port.trim())?.[1] : undefined;
      if (host === undefined || host === "0") continue;
      const other = takenBy.get(host);
      if (other !== undefined && other !== name)
        yield `services.${shown(name)}.ports.${index}: Port ${host} of the server is mapped by ${shown(other)} too.`;
      else takenBy.set(host, name);
    }
  }
}

/** Services that have ended before this one starts. */
const awaitedEnds = ({ depends_on }: ComposeService): readonly string[] =>
  Object.entries(recordOf(depends_on)).flatMap(([name, entry]) =>
    recordOf(entry).condition === "service_completed_successfully" ? [name] : [],
  );

/** What has a profile, no replica or an end of its own may not run together with others; host networks map no ports. */
const runsBesideOthers = (service: ComposeService): boolean =>
  (service.profiles ?? []).length === 0 &&
  replicasOf(service) !== 0 &&
  !service.network_mode &&
  service.restart !== "no" &&
  service.restart !== false;

const isPlain = (text: string): boolean => !text.includes("$");
const shown = (text: string): string => text.slice(0, 100).replace(/\p{C}/gu, "?");
