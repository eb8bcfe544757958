import { createHash } from "node:crypto";

/** An event of an engine, as a line of its stream. */
export interface EngineEvent {
  readonly Type: "container" | "service";
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

/** The answer to a request. `undefined`: the swarm does not know the path. */
export type Answered = { readonly status: number; readonly body: unknown } | undefined;

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface Service {
  readonly ID: string;
  readonly Version: { readonly Index: number };
  readonly Spec: ServiceSpec;
  readonly CreatedAt: string;
}

/** Those fields that are read here. */
interface ServiceSpec {
  readonly Name: string;
  readonly Labels?: Labels;
  readonly Mode?: { readonly Replicated?: { readonly Replicas?: number } };
  readonly TaskTemplate?: { readonly ContainerSpec?: { readonly Labels?: Labels; readonly Image?: string } };
}

export type Labels = Readonly<Record<string, string>>;

interface Container {
  readonly id: string;
  readonly service: Service;
  readonly slot: number;
  readonly node: number;
  readonly address: string;
}

/** A swarm without containers: those of its services run at once, and answer on a port of this machine. */
export class SimulatedSwarm {
  readonly #id: string;
  readonly #nodes: readonly string[];
  readonly #labels = new Map<string, Labels>();
  readonly #services = new Map<string, Service>();
  readonly #networks = new Map<string, object>();
  readonly #emit: (node: number, event: EngineEvent) => void;
  #index = 1;

  /** @param emit Receives the events of each node. */
  constructor(name: string, size: number, emit: (node: number, event: EngineEvent) => void) {
    this.#id = idOf(name);
    this.#nodes = Array.from({ length: size }, (_, node) => idOf(`${name} ${node}`));
    this.#emit = emit;
  }

  /** What `/info` says of the swarm. The first node alone manages it. */
  info(node: number): object {
    return {
      ...{ NodeID: this.#nodes[node], LocalNodeState: "active", ControlAvailable: node === 0 },
      ...{ RemoteManagers: [{ NodeID: this.#nodes[0], Addr: "10.77.0.1:2377" }], Managers: 3 },
      ...(node === 0 && { Cluster: { ID: this.#id } }),
    };
  }

  answer(node: number, { method, path, query, body }: Asked): Answered {
    const [, kind, name = "", last = ""] = path.split("/");
    const filters = JSON.parse(query.get("filters") ?? "{}");
    if (kind === "nodes" && name === "") return ok(this.#nodes.map((_id, at) => this.#nodeOf(at)));
    if (kind === "nodes") return this.#changeNode(name, method, body as { Labels?: Labels });
    if (kind === "services" && name === "")
      return ok([...this.#services.values()].filter(({ Spec }) => hasLabels(filters, Spec.Labels)));
    if (kind === "services") return this.#changeService(name, last, body as ServiceSpec);
    if (kind === "tasks") {
      const { node: nodes }: { readonly node?: readonly (string | undefined)[] } = filters;
      const wanted = this.#containers().filter((one) => nodes?.includes(this.#nodes[one.node]) !== false);
      return ok(wanted.map((one) => this.#taskOf(one)));
    }
    if (kind === "networks" && name === "") return ok([...this.#networks.values()]);
    if (kind === "networks") return this.#network(node, name, body as { Name?: string });
    if (kind !== "containers") return undefined;
    const own = this.#containers().filter((one) => one.node === node);
    if (name === "json") return ok(own.filter(({ service }) => hasLabels(filters, taskLabels(service))).map(listed));
    const found = own.find(({ id }) => id === name);
    return found === undefined ? undefined : ok(inspected(found));
  }

  #nodeOf(at: number): object {
    const id = this.#nodes[at] ?? "";
    return {
      ID: id,
      Version: { Index: this.#index },
      Spec: { Role: at === 0 ? "manager" : "worker", Availability: "active", Labels: this.#labels.get(id) ?? {} },
      Description: { Hostname: `node-${at + 1}`, Platform: { OS: "linux", Architecture: "x86_64" } },
      Status: { State: "ready", Addr: "10.77.0.1" },
      ...(at === 0 && { ManagerStatus: { Leader: true, Reachability: "reachable" } }),
    };
  }

  #changeNode(id: string, method: string, { Labels: labels = {} }: { Labels?: Labels }): Answered {
    if (method === "POST") this.#labels.set(id, labels);
    return ok(this.#nodeOf(this.#nodes.indexOf(id)));
  }

  #changeService(name: string, action: string, spec: ServiceSpec): Answered {
    if (name === "create") return this.#createService(spec);
    const found = [...this.#services.values()].find(({ ID, Spec }) => ID === name || Spec.Name === name);
    if (found === undefined) return undefined;
    if (action === "update") {
      this.#index += 1;
      this.#services.set(found.ID, { ...found, Spec: spec, Version: { Index: this.#index } });
    }
    return ok(this.#services.get(found.ID));
  }

  #createService(Spec: ServiceSpec): Answered {
    const ID = idOf(`${this.#id} ${Spec.Name}`);
    this.#index += 1;
    const CreatedAt = new Date().toISOString();
    this.#services.set(ID, { ID, Spec, Version: { Index: this.#index }, CreatedAt });
    this.#emit(0, { Type: "service", Action: "create", Actor: { ID, Attributes: { name: Spec.Name } } });
    for (const { id, node, service, slot } of this.#containers().filter((one) => one.service.ID === ID)) {
      const Attributes = { ...labelsOf(service, slot), name: taskName(service, slot) };
      this.#emit(node, { Type: "container", Action: "start", Actor: { ID: id, Attributes } });
    }
    return { status: 201, body: { ID } };
  }

  #network(node: number, name: string, { Name = "" }: { Name?: string }): Answered {
    if (name === "create") {
      const network = { Id: idOf(`${this.#id} ${Name}`), Name, Scope: "swarm", Driver: "overlay", Labels: {} };
      this.#networks.set(Name, network);
      return { status: 201, body: { Id: network.Id } };
    }
    if (name !== "docker_gwbridge") return this.#networks.has(name) ? ok(this.#networks.get(name)) : undefined;
    const own = this.#containers().filter((one) => one.node === node);
    const ends = own.map(({ id }) => [id, { Name: `gateway_${id.slice(0, 12)}`, IPv4Address: "127.0.0.1/8" }]);
    return ok({ Name: name, Containers: Object.fromEntries(ends) });
  }

  #taskOf({ service, slot, node, address }: Container): object {
    return {
      ...{ ID: taskIdOf(service, slot), ServiceID: service.ID, Slot: slot, NodeID: this.#nodes[node] },
      ...{ DesiredState: "running", Status: { State: "running", Timestamp: service.CreatedAt } },
      Spec: service.Spec.TaskTemplate,
      NetworksAttachments: [{ Addresses: [`${address}/16`] }],
    };
  }

  #containers(): readonly Container[] {
    return [...this.#services.values()].flatMap((service, at) =>
      Array.from({ length: service.Spec.Mode?.Replicated?.Replicas ?? 0 }, (_, index) => ({
        id: containerIdOf(service, index + 1),
        ...{ service, slot: index + 1, node: index % this.#nodes.length, address: `10.201.${at}.${index + 2}` },
      })),
    );
  }
}

export const ok = (body: unknown): Answered => ({ status: 200, body });

const containerIdOf = ({ ID }: Service, slot: number): string =>
  createHash("sha256").update(`${ID} ${slot}`).digest("hex");

const taskIdOf = (service: Service, slot: number): string => containerIdOf(service, slot).slice(0, 25);

const idOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 25);

/** The filters of a request, as far as they are respected. */
export interface Filters {
  readonly label?: readonly string[];
}

export const hasLabels = ({ label = [] }: Filters, labels: Labels = {}): boolean =>
  label.every((one) => {
    const at = one.indexOf("=");
    const value = labels[at < 0 ? one : one.slice(0, at)];
    return at < 0 ? value !== undefined : value === one.slice(at + 1);
  });

const taskLabels = ({ Spec }: Service): Labels => Spec.TaskTemplate?.ContainerSpec?.Labels ?? {};

const taskName = ({ Spec, ID }: Service, slot: number): string => `${Spec.Name}.${slot}.${ID}`;

const labelsOf = (service: Service, slot: number): Labels => ({
  ...taskLabels(service),
  "com.docker.swarm.task.id": taskIdOf(service, slot),
  "com.docker.swarm.task.name": taskName(service, slot),
});

const listed = ({ id, service, slot, address }: Container): object => ({
  ...{ Id: id, Names: [`/${taskName(service, slot)}`], State: "running", Labels: labelsOf(service, slot) },
  NetworkSettings: { Networks: { berth: { IPAddress: address } } },
});

const inspected = ({ id, service, slot, address }: Container): object => ({
  ...{ Id: id, Name: `/${taskName(service, slot)}`, RestartCount: 0, Created: service.CreatedAt },
  Image: service.Spec.TaskTemplate?.ContainerSpec?.Image,
  State: { Status: "running", Running: true, ExitCode: 0, StartedAt: service.CreatedAt },
  Config: { Labels: labelsOf(service, slot) },
  HostConfig: { NetworkMode: "berth" },
  NetworkSettings: { SandboxID: id, Networks: { berth: { IPAddress: address } } },
});
