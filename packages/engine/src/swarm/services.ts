import { DomainError } from "@berth/core";
import type { ReleaseRef } from "@berth/core/deploy";
import {
  LABELS,
  type Labels,
  labelOf,
  ownedLabels,
  RELEASE_ROLE,
  releaseFilter,
  statusCodeOf,
} from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerTaskSpec, CreateServiceOptions, Service, ServiceSpec } from "dockerode";
import { STOP_GRACE_SECONDS } from "../docker/engine.ts";
import type { ReleaseService, StackMember } from "./state.ts";

/** A service of a release. */
export interface FoundService extends ReleaseService {
  readonly id: string;
  /** Fingerprint of what it was made from, as `LABELS.spec`. */
  readonly fingerprint: string;
  readonly imageId: string;
  /** Of its containers. */
  readonly labels: Labels;
  /** What its containers get to stop. */
  readonly graceSeconds: number;
  /** Its networks, by id or name. */
  readonly networks: readonly string[];
  readonly spec: ServiceSpec;
  /** Swarm refuses an update of another version. */
  readonly version: number;
}

/** A task of a service, as far as it is read. */
export interface Task {
  readonly ID: string;
  readonly Slot?: number;
  readonly NodeID?: string;
  readonly DesiredState: string;
  readonly Status: { readonly State: string; readonly Err?: string; readonly Timestamp?: string };
  readonly Spec: { readonly ContainerSpec?: { readonly Labels?: Labels } };
  readonly NetworksAttachments?: readonly { readonly Addresses?: readonly string[] }[] | null;
}

/** Services of this instance's releases, by a manager. */
export class Services {
  readonly #docker: Docker;
  readonly #instance: string;

  constructor(docker: Docker, instance: string) {
    this.#docker = docker;
    this.#instance = instance;
  }

  /** Those of a release: one for an image, one for each container of a compose file. */
  async of(ref: Partial<ReleaseRef>): Promise<readonly FoundService[]> {
    const filters = { ...releaseFilter(this.#instance, ref) };
    return (await this.#docker.listServices({ filters })).flatMap((service) => this.#read(service) ?? []);
  }

  list(): Promise<readonly FoundService[]> {
    return this.of({});
  }

  async #find(id: string): Promise<FoundService | undefined> {
    try {
      return this.#read(await this.#docker.getService(id).inspect());
    } catch (cause) {
      if (statusCodeOf(cause) === 404) return undefined;
      throw cause;
    }
  }

  /** @throws DomainError `deploy.start_failed` */
  async create(spec: CreateServiceOptions): Promise<void> {
    try {
      // Of a single argument, the library would put all into a header.
      await this.#docker.createService({}, spec);
    } catch (cause) {
      // 409: another caller made it, or the first attempt of this call.
      if (statusCodeOf(cause) !== 409) throw cause;
      await this.#requireOwn(spec);
    }
  }

  /** Changes a service, as often as others change it at the same moment. `undefined`: it no longer exists. */
  async update(
    { id }: Pick<FoundService, "id">,
    change: (service: FoundService) => ServiceSpec | undefined,
  ): Promise<FoundService | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#find(id);
      const wanted = found && change(found);
      if (found === undefined || wanted === undefined) return found;
      try {
        await this.#docker.getService(found.id).update({ ...wanted, version: found.version });
        return await this.#find(id);
      } catch (cause) {
        if (statusCodeOf(cause) === 404) return undefined;
        const isOutdated = cause instanceof Error && /update out of sequence/.test(cause.message);
        if (!isOutdated || attempt === ATTEMPTS_MAX) throw cause;
      }
    }
  }

  /** Idempotent. */
  async remove({ id }: Pick<FoundService, "id">): Promise<void> {
    try {
      await this.#docker.getService(id).remove();
    } catch (cause) {
      if (statusCodeOf(cause) !== 404) throw cause;
    }
  }

  /** Its tasks, also those that have ended. */
  async tasks({ id }: Pick<FoundService, "id">): Promise<readonly Task[]> {
    const filters = JSON.stringify({ service: [id] });
    return (await this.#docker.listTasks({ filters })) as readonly Task[]; // Typed as any by the library.
  }

  /** The tasks of this instance's releases, also those that have ended. */
  async allTasks(): Promise<readonly Task[]> {
    const filters = JSON.stringify(releaseFilter(this.#instance));
    return (await this.#docker.listTasks({ filters })) as readonly Task[]; // Typed as any by the library.
  }

  /** The tasks of this instance's releases that a node was given, also those that have ended. */
  async assignedTo(nodeId: string): Promise<readonly Task[]> {
    const filters = JSON.stringify({ ...releaseFilter(this.#instance), node: [nodeId] });
    return (await this.#docker.listTasks({ filters })) as readonly Task[]; // Typed as any by the library.
  }

  /** The tasks that should run on a node. */
  async tasksOn(nodeId: string): Promise<readonly Task[]> {
    const filters = JSON.stringify({ node: [nodeId], "desired-state": ["running"] });
    return (await this.#docker.listTasks({ filters })) as readonly Task[]; // Typed as any by the library.
  }

  async #requireOwn({ Name: name = "", Labels: labels = {} }: CreateServiceOptions): Promise<void> {
    const { Spec: found } = (await this.#docker.getService(name).inspect()) as Service;
    if (found?.Labels?.[LABELS.deployment] === labels[LABELS.deployment]) return;
    const message = `A service that Berth did not create has the name ${name}. Rename or remove it, then deploy again.`;
    throw new DomainError("deploy.start_failed", message);
  }

  #read({ ID, Spec, Version }: Service): FoundService | undefined {
    const labels: Labels = Spec?.Labels ?? {};
    const resourceUuid = labelOf(labels, LABELS.resource);
    const deploymentUuid = labelOf(labels, LABELS.deployment);
    const isOwn = Object.entries({ ...ownedLabels(this.#instance), [LABELS.role]: RELEASE_ROLE }).every(
      ([name, value]) => labels[name] === value,
    );
    if (Spec === undefined || !isOwn || resourceUuid === undefined || deploymentUuid === undefined) return undefined;
    const task = templateOf(Spec);
    return {
      id: ID,
      ref: { resourceUuid, deploymentUuid },
      member: memberOf(labels, task),
      replicas: Spec.Mode?.Replicated?.Replicas ?? 0,
      isStopped: placementOf(Spec).includes(STOPPED),
      run: Number(labels[LABELS.run]) || 0,
      fingerprint: labels[LABELS.spec] ?? "",
      imageId: task.ContainerSpec?.Image ?? "",
      labels: task.ContainerSpec?.Labels ?? {},
      graceSeconds: (task.ContainerSpec?.StopGracePeriod ?? STOP_GRACE_SECONDS * NANOSECONDS) / NANOSECONDS,
      networks: (task.Networks ?? []).map(({ Target = "" }) => Target),
      spec: Spec,
      version: Version?.Index ?? 0,
    };
  }
}

function memberOf(labels: Labels, { ContainerSpec, RestartPolicy }: ContainerTaskSpec): StackMember | undefined {
  const name = labelOf(labels, LABELS.container);
  if (name === undefined) return undefined;
  const own = ContainerSpec?.Labels ?? {};
  const port = Number(labelOf(own, LABELS.port) ?? Number.NaN);
  return {
    name,
    order: Number(labels[LABELS.order]) || 0,
    isNumbered: labelOf(own, LABELS.replicas) !== undefined,
    isExcluded: own[LABELS.excluded] === "true",
    port: Number.isInteger(port) ? port : null,
    restarts: RESTARTS[RestartPolicy?.Condition ?? "any"] ?? "always",
  };
}

const RESTARTS: Readonly<Record<string, StackMember["restarts"]>> = { none: "never", "on-failure": "on-failure" };
const NANOSECONDS = 1e9;

/**
 * The condition of a stopped service, which no node fulfils. With no replicas instead, Swarm would remove the
 * containers, and with them their logs and exit codes.
 */
const STOPPED = "node.id==stopped";

/** The service with its tasks stopped. `undefined`: they are. */
export function stopped({ spec, isStopped }: FoundService): ServiceSpec | undefined {
  return isStopped ? undefined : withTask(spec, { constraints: [...placementOf(spec), STOPPED] });
}

/** The service with tasks that run again. `undefined`: they do. */
export function resumed({ spec, isStopped, run }: FoundService): ServiceSpec | undefined {
  if (!isStopped) return undefined;
  const constraints = placementOf(spec).filter((one) => one !== STOPPED);
  return withTask(spec, { constraints, run: run + 1 });
}

/** The service with this number of tasks. `undefined`: it has. */
export const scaled =
  (replicas: number) =>
  ({ spec, replicas: now }: FoundService): ServiceSpec | undefined =>
    now === replicas ? undefined : { ...spec, Mode: { Replicated: { Replicas: replicas } } };

function withTask(
  spec: ServiceSpec,
  { constraints, run }: { readonly constraints: readonly string[]; readonly run?: number },
): ServiceSpec {
  const task = templateOf(spec);
  const label = run === undefined ? {} : { [LABELS.run]: String(run) };
  const container = task.ContainerSpec;
  return {
    ...spec,
    Labels: { ...spec.Labels, ...label },
    TaskTemplate: {
      ...task,
      Placement: { ...task.Placement, Constraints: [...constraints] },
      ...(container && { ContainerSpec: { ...container, Labels: { ...container.Labels, ...label } } }),
    },
  };
}

/** Berth's services run containers. */
const templateOf = ({ TaskTemplate = {} }: ServiceSpec): ContainerTaskSpec => TaskTemplate as ContainerTaskSpec;

/** Where the tasks of a service may run. */
export const placementOf = (spec: ServiceSpec): readonly string[] => templateOf(spec).Placement?.Constraints ?? [];

const ATTEMPTS_MAX = 10;
