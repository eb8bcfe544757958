import type { Compose, ComposeContainer } from "../compose/parse.ts";
import { recordOf } from "../compose/record.ts";
import { withDefaults } from "../compose/reference.ts";
import type { ComposeDocument } from "../compose/schema.ts";

export interface StackReplacement {
  /** `candidate_first`: running containers stop only after the new ones receive the traffic. */
  readonly mode: "candidate_first" | "stop_first";
  /** A sentence for people. */
  readonly reason: string;
  readonly containers: readonly ContainerReplacement[];
}

export interface ContainerReplacement {
  readonly name: string;
  /** `kept`: it continues unchanged. The other values replace, add or remove it. */
  readonly action: "kept" | "candidate_first" | "stop_first" | "added" | "removed";
  readonly reason: string;
}

type Stack = Pick<Compose, "document" | "containers">;

/**
 * How the containers of a compose file are replaced by those of its next version.
 * @param changed Names of containers whose definition or input differs.
 */
export function stackReplacement(before: Stack, after: Stack, changed: ReadonlySet<string>): StackReplacement {
  const moved = withCoupled(after.document, changed);
  const old = new Set(before.containers.map(({ name }) => name));
  const gone = before.containers.filter(({ name }) => !after.containers.some((one) => one.name === name));
  const containers = [
    ...after.containers.map((container): ContainerReplacement => {
      const { name } = container;
      if (!old.has(name)) return { name, action: "added", reason: "It is a new container." };
      if (!moved.has(name))
        return { name, action: "kept", reason: "Neither its definition nor its input has changed." };
      const because = exclusiveContainerReason(container, after.document);
      if (because === undefined) return { name, action: "candidate_first", reason: BESIDE };
      return { name, action: "stop_first", reason: `The old one stops before the new one starts, since ${because}.` };
    }),
    ...gone.map(
      ({ name }): ContainerReplacement => ({ name, action: "removed", reason: "Removed from the compose file." }),
    ),
  ];
  const stopping = containers.filter(({ action }) => action === "stop_first");
  return {
    mode: stopping.length === 0 ? "candidate_first" : "stop_first",
    reason: stopping.length === 0 ? BESIDE : stopping.map(({ name, reason }) => `${name}: ${reason}`).join(" "),
    containers,
  };
}

const BESIDE = "The new container starts beside the old one, which stops once the new one has the traffic.";

/**
 * Why a container must stop before its replacement starts, as the end of a sentence; `undefined`: both may run. Two
 * may run only without persistent data, without anything that exists once (such as a port), and if no other container
 * connects to it.
 */
export function exclusiveContainerReason(
  { name, kind, volumes, ports }: Pick<ComposeContainer, "name" | "kind" | "volumes" | "ports">,
  document: ComposeDocument,
): string | undefined {
  const service = document.services[name] ?? {};
  if (volumes.some(({ content, isReadOnly }) => content === null && !isReadOnly)) {
    return "it has volumes, which only one may write to";
  }
  if (kind === "database") return "it is a database";
  if (takesServerPorts(ports)) return "it uses ports of the server, which only one can use";
  if (service.network_mode === "host") return "it is in the server's own network";
  if (coupledTo(service).length > 0) return "it shares a part of another container";
  if (hasAddress(service.networks)) return "it has a fixed address, which only one can have";
  const seeker = connectingService(name, document);
  return seeker === undefined ? undefined : `${seeker} finds it by its name`;
}

/** Why the containers of a compose file cannot all run twice; `undefined`: they can. */
export function exclusiveStackReason({ document, containers }: Stack): string | undefined {
  for (const container of containers) {
    const because = exclusiveContainerReason(container, document);
    if (because !== undefined) return `of its container ${container.name}, ${because}`;
  }
  return undefined;
}

/** A port without one of the server, such as `3000` or `127.0.0.1::3000`, is published at any that is free. */
const takesServerPorts = (ports: string | null): boolean =>
  ports !== null &&
  !withDefaults(ports)
    .split(",")
    .every((port) => PUBLISHED_ANYWHERE.test(port.trim()));

const PUBLISHED_ANYWHERE = /^(?:(?:[^:[\]]+|\[[^\]]+\])::)?\d{1,5}(?:-\d{1,5})?(?:\/[a-z]+)?$/;

const hasAddress = (networks: unknown): boolean =>
  Object.values(recordOf(networks)).some((options) =>
    ["ipv4_address", "ipv6_address", "mac_address"].some((key) => recordOf(options)[key] != null),
  );

/** Another container that connects to this one by its name, and so might reach either of two. */
function connectingService(name: string, { services }: ComposeDocument): string | undefined {
  const { container_name } = services[name] ?? {};
  const names = [name, ...(typeof container_name === "string" && container_name !== "" ? [container_name] : [])];
  // A name may have any characters, and must not become an expression of its author.
  const escaped = names.map((one) => one.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  const word = new RegExp(`(?<![\\w-])(${escaped.join("|")})(?![\\w-])`);
  return Object.entries(services).find(
    ([other, service]) => other !== name && word.test(connectionSettings(service)),
  )?.[0];
}

/** The settings in which a container names the hosts it connects to. */
function connectionSettings(service: Readonly<Record<string, unknown>>): string {
  const { image: _i, build: _b, labels: _l, volumes: _v, container_name: _c, working_dir: _w, ...rest } = service;
  return JSON.stringify(rest);
}

/**
 * The changed containers and those that depend on them: containers that share a part of a changed one, and those that
 * ask to be restarted with it.
 */
export function withCoupled(
  { services }: Pick<ComposeDocument, "services">,
  changed: ReadonlySet<string>,
): ReadonlySet<string> {
  const all = new Set(changed);
  for (let before = -1; before !== all.size; ) {
    before = all.size;
    for (const [name, service] of Object.entries(services)) {
      const shared = coupledTo(service);
      if (all.has(name)) for (const other of shared) all.add(other);
      if ([...shared, ...restartedWith(service)].some((other) => all.has(other))) all.add(name);
    }
  }
  return all;
}

/** Services whose container this one shares namespaces or volumes with. */
export function coupledTo({ network_mode, pid, ipc, volumes_from, links }: Readonly<Record<string, unknown>>) {
  const modes = [network_mode, pid, ipc].flatMap((mode) => /^service:(.+)$/.exec(String(mode ?? ""))?.[1] ?? []);
  const listed = [volumes_from, links].flatMap((list) => (Array.isArray(list) ? list : []));
  const sources = listed.filter((from) => !/^container:/.test(String(from))).map((from) => String(from).split(":")[0]);
  return [...modes, ...sources].filter((name) => name !== undefined);
}

const restartedWith = ({ depends_on }: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.entries(recordOf(depends_on)).flatMap(([name, options]) => (recordOf(options).restart === true ? [name] : []));
