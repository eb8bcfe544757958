import { createHash } from "node:crypto";
import { type Answered, type Asked, type EngineEvent, hasLabels, type Labels, ok } from "./simulated-swarm.ts";

export interface SimulatedContainer {
  readonly id: string;
  readonly name: string;
  readonly labels: Labels;
  readonly image: string;
  readonly host: object;
  readonly networks: readonly string[];
  readonly state: "created" | "running" | "exited";
  readonly startedAt: string;
  /** Result of the check of its image. Default: the image has none. */
  readonly health?: "healthy";
}

/** Those fields that are read here. */
interface CreateBody {
  readonly Image?: string;
  readonly Labels?: Labels;
  readonly HostConfig?: { readonly NetworkMode?: string };
  readonly NetworkingConfig?: { readonly EndpointsConfig?: Readonly<Record<string, object>> };
}

/** An engine whose containers run as soon as they are started, and answer on a port of this machine. */
export class SimulatedMachine {
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly #networks = new Map<string, object>();
  readonly #emit: (event: EngineEvent) => void;

  constructor(emit: (event: EngineEvent) => void) {
    this.#emit = emit;
  }

  containers(): readonly SimulatedContainer[] {
    return [...this.#containers.values()];
  }

  /** Adds a container that has been running. */
  add(container: SimulatedContainer): void {
    this.#containers.set(container.id, container);
  }

  /** Ends a container, as a program does by itself. */
  exit(container: SimulatedContainer): void {
    this.#change(container, "exited", "die", { exitCode: "1" });
  }

  answer({ method, path, query, body }: Asked): Answered {
    const [, kind, name = "", action = ""] = path.split("/");
    if (kind === "networks") return this.#network(name, body as { Name?: string });
    if (kind !== "containers") return undefined;
    if (name === "json") {
      const filters = JSON.parse(query.get("filters") ?? "{}");
      return ok(this.containers().flatMap((one) => (hasLabels(filters, one.labels) ? [listed(one)] : [])));
    }
    if (name === "create") return this.#create(query.get("name") ?? "", body as CreateBody);
    const found = this.#containers.get(name) ?? this.containers().find((one) => one.name === name);
    if (found === undefined) return undefined;
    if (action === "stats") return ok(USAGE);
    if (method === "GET") return ok(inspected(found));
    if (method === "DELETE") {
      this.#containers.delete(found.id);
      this.#emit(eventOf(found, "destroy"));
    }
    if (action === "start") this.#change({ ...found, startedAt: new Date().toISOString() }, "running", "start");
    if (action === "stop" || action === "kill") this.#change(found, "exited", "die", { exitCode: "0" });
    if (action === "rename") this.#containers.set(found.id, { ...found, name: query.get("name") ?? "" });
    return { status: 204, body: undefined };
  }

  #create(
    name: string,
    { Image: image = "", Labels: labels = {}, HostConfig: host = {}, ...more }: CreateBody,
  ): Answered {
    const networks = Object.keys(more.NetworkingConfig?.EndpointsConfig ?? { [host.NetworkMode ?? "bridge"]: {} });
    const container = {
      id: idOf(name),
      name,
      labels,
      image,
      host,
      networks,
      state: "created",
      startedAt: NEVER,
    } as const;
    this.add(container);
    this.#emit(eventOf(container, "create"));
    return { status: 201, body: { Id: container.id, Warnings: [] } };
  }

  #change(container: SimulatedContainer, state: SimulatedContainer["state"], action: string, more: Labels = {}): void {
    const changed = { ...container, state };
    this.#containers.set(container.id, changed);
    this.#emit(eventOf(changed, action, more));
  }

  #network(name: string, { Name = "" }: { readonly Name?: string }): Answered {
    if (name === "") return ok([...this.#networks.values()]);
    if (name !== "create") return this.#networks.has(name) ? ok(this.#networks.get(name)) : undefined;
    const network = { Id: idOf(Name), Name, Scope: "local", Driver: "bridge", Labels: {} };
    this.#networks.set(Name, network);
    return { status: 201, body: { Id: network.Id } };
  }
}

const USAGE = {
  pids_stats: { current: 3 },
  memory_stats: { usage: 50 << 20, stats: { inactive_file: 1 << 20 } },
  cpu_stats: { cpu_usage: { total_usage: 1e9 } },
  networks: { eth0: { rx_bytes: 1, tx_bytes: 1 } },
  blkio_stats: { io_service_bytes_recursive: [] },
};

const NEVER = "0001-01-01T00:00:00Z";

export const idOf = (text: string): string => createHash("sha256").update(text).digest("hex");

const eventOf = ({ id, name, labels }: SimulatedContainer, action: string, more: Labels = {}): EngineEvent => ({
  Type: "container",
  Action: action,
  Actor: { ID: id, Attributes: { ...labels, name, ...more } },
});

const networksOf = ({ networks }: SimulatedContainer): object =>
  Object.fromEntries(networks.map((network) => [network, { IPAddress: "127.0.0.1" }]));

const listed = (container: SimulatedContainer): object => ({
  ...{ Id: container.id, Names: [`/${container.name}`], State: container.state, Labels: container.labels },
  Status: container.state === "running" ? `Up 2 hours${healthIn(container)}` : "Exited (1) 1 minute ago",
  HostConfig: { NetworkMode: container.networks[0] ?? "bridge" },
  NetworkSettings: { Networks: networksOf(container) },
});

const healthIn = ({ health }: SimulatedContainer): string => (health === undefined ? "" : ` (${health})`);

const inspected = (container: SimulatedContainer): object => ({
  ...{ Id: container.id, Name: `/${container.name}`, RestartCount: 0, Created: container.startedAt },
  Image: container.image,
  State: {
    ...{ Status: container.state, Running: container.state === "running", StartedAt: container.startedAt },
    ExitCode: container.state === "exited" ? 1 : 0,
    ...(container.health === undefined ? {} : { Health: { Status: container.health, FailingStreak: 0, Log: [] } }),
  },
  Config: { Labels: container.labels },
  HostConfig: container.host,
  NetworkSettings: { SandboxID: container.id, Networks: networksOf(container), Ports: {} },
});
