import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { LABELS, type Labels, ownedLabels, RELEASE_ROLE, TASK_ROLE } from "@berth/docker-client";
import type {
  ContainerCreateOptions,
  ContainerTaskSpec,
  CreateServiceOptions,
  HealthConfig,
  HostConfig,
  MountConfig,
} from "dockerode";
import { createOptions, imageOf } from "../docker/container.ts";
import { STOP_GRACE_SECONDS } from "../docker/engine.ts";
import { REPLICA_LABELS } from "../docker/replica-options.ts";
import { tmpfsMount } from "./tmpfs.ts";

/**
 * The name of a release's service. A DNS label, since it is the name of its tasks in networks too.
 * @param order Position in the compose file; `undefined`: the release is an image.
 */
export const serviceName = (deploymentUuid: string, order?: number): string => {
  const end = order === undefined ? "" : `-${order}`;
  return `${`berth-${deploymentUuid}`.slice(0, 63 - end.length)}${end}`;
};

interface TaskPlace {
  readonly instance: string;
  /** Id of the image, so that no node asks a registry for it. */
  readonly imageId: string;
  /** Conditions for nodes, in Swarm's form. */
  readonly constraints: readonly string[];
  /** See `LABELS.run`. */
  readonly run: number;
}

export interface ServicePlace extends TaskPlace {
  /** An overlay network. */
  readonly network: string;
}

/** Definition of a release's service. Pure. @throws DomainError `deploy.start_failed` for options that Swarm lacks */
export function serviceSpec(spec: ReleaseSpec, place: ServicePlace): CreateServiceOptions {
  const { instance, network } = place;
  const options = createOptions(spec, { instance, network, image: imageOf(spec) });
  const { HostConfig: host = {}, Labels: labels = {} } = options;
  assertSupported(options, host);
  return definition(spec, place, {
    name: serviceName(spec.deploymentUuid),
    labels: { [LABELS.spec]: labels[LABELS.spec] ?? "" },
    options: { ...options, Labels: { ...labels, ...REPLICA_LABELS } },
    networks: [
      {
        name: network,
        aliases: [...(spec.container?.networkAliases ?? []), ...(spec.containerName ? [spec.containerName] : [])],
      },
    ],
    replicas: spec.replicas ?? 1,
    healthCheck: patient,
    graceSeconds: STOP_GRACE_SECONDS,
    restarts: { Condition: "any", MaxAttempts: 0 },
  });
}

/** What a service runs, and how. */
export interface ServiceTasks {
  readonly name: string;
  /** Of the service, besides those that every one has. */
  readonly labels: Labels;
  readonly options: ContainerCreateOptions;
  readonly networks: readonly { readonly name: string; readonly aliases: readonly string[] }[];
  readonly replicas: number;
  readonly healthCheck: (check: HealthConfig) => HealthConfig;
  readonly graceSeconds: number;
  readonly restarts: { readonly Condition: "any" | "on-failure" | "none"; readonly MaxAttempts: number };
  /** Processors that Swarm keeps free for each. */
  readonly reservedCpus?: number | undefined;
}

/** Definition of a service. Pure. */
export function definition(ref: ReleaseRef, place: TaskPlace, tasks: ServiceTasks): CreateServiceOptions {
  const { instance, constraints, run } = place;
  const { name, labels, options, networks, replicas, restarts, reservedCpus } = tasks;
  return {
    Name: name,
    Labels: {
      ...ownedLabels(instance),
      [LABELS.role]: RELEASE_ROLE,
      [LABELS.resource]: ref.resourceUuid,
      [LABELS.deployment]: ref.deploymentUuid,
      ...labels,
      [LABELS.run]: String(run),
    },
    TaskTemplate: {
      ContainerSpec: containerSpec(tasks, place),
      Resources: resourcesOf(options.HostConfig ?? {}, reservedCpus),
      RestartPolicy: { ...restarts, Delay: RESTART_DELAY_SECONDS * NANOSECONDS },
      Placement: { Constraints: [...constraints] },
      Networks: networks.map((network) => ({ Target: network.name, Aliases: [...network.aliases] })),
      LogDriver: { Name: "json-file", Options: { "max-size": "20m", "max-file": "3" } },
    },
    Mode: { Replicated: { Replicas: replicas } },
    // Releases are never replaced in place: an update only stops or starts all tasks, or leaves them alone.
    UpdateConfig: { Parallelism: 0, Order: "stop-first", FailureAction: "continue" },
    EndpointSpec: { Mode: "dnsrr" },
  };
}

/** The service with more conditions for nodes. */
export function withConditions(definition: CreateServiceOptions, conditions: readonly string[]): CreateServiceOptions {
  const task = definition.TaskTemplate as ContainerTaskSpec;
  const constraints = [...conditions, ...(task.Placement?.Constraints ?? [])];
  return { ...definition, TaskTemplate: { ...task, Placement: { ...task.Placement, Constraints: constraints } } };
}

type ContainerSpec = NonNullable<ContainerTaskSpec["ContainerSpec"]>;
/** Fields that the library's types lack. */
interface NewerFields {
  readonly CapabilityAdd: string[];
  readonly CapabilityDrop: string[];
  readonly Ulimits: HostConfig["Ulimits"];
  readonly Sysctls: HostConfig["Sysctls"];
}

function containerSpec(
  { options, healthCheck, graceSeconds }: ServiceTasks,
  { imageId, run }: Pick<TaskPlace, "imageId" | "run">,
): ContainerSpec {
  const { HostConfig: host = {} } = options;
  const entrypoint = [options.Entrypoint ?? []].flat();
  const { Healthcheck: healthcheck } = options;
  const newer: NewerFields = {
    CapabilityAdd: host.CapAdd ?? [],
    CapabilityDrop: host.CapDrop ?? [],
    Ulimits: host.Ulimits,
    Sysctls: host.Sysctls,
  };
  return {
    Image: imageId,
    Labels: { ...options.Labels, [LABELS.role]: TASK_ROLE, [LABELS.run]: String(run) },
    ...(entrypoint.length > 0 ? { Command: entrypoint } : {}),
    ...(options.Cmd === undefined ? {} : { Args: [...options.Cmd] }),
    Env: (options.Env ?? []).map(literal),
    ...(options.Hostname === undefined ? {} : { Hostname: literal(options.Hostname) }),
    ...(options.User === undefined ? {} : { User: options.User }),
    ...(options.WorkingDir === undefined ? {} : { Dir: options.WorkingDir }),
    ...(options.StopSignal === undefined ? {} : { StopSignal: options.StopSignal }),
    ...(healthcheck === undefined ? {} : { HealthCheck: healthCheck(healthcheck) }),
    Groups: [...(host.GroupAdd ?? [])].map(String),
    Init: host.Init ?? true,
    ReadOnly: host.ReadonlyRootfs === true,
    Mounts: [...(host.Mounts ?? []).map(mountOf), ...tmpfsMounts(host)],
    Hosts: (host.ExtraHosts ?? []).map(hostLine),
    DNSConfig: { Nameservers: host.Dns ?? [], Search: host.DnsSearch ?? [], Options: host.DnsOptions ?? [] },
    TTY: options.Tty === true,
    OpenStdin: options.OpenStdin === true,
    // What Berth stops gets the grace time of that stop; this is for what Swarm itself moves away.
    StopGracePeriod: graceSeconds * NANOSECONDS,
    ...newer,
  } as ContainerSpec; // With fields that the types lack.
}

/**
 * A swarm kills what its health check finds unhealthy, as a database would be while it recovers. What a resource is
 * checked for by Berth is therefore never found unhealthy by the swarm, only healthy or still starting.
 */
const patient = (check: HealthConfig): HealthConfig => (isChecked(check) ? { ...check, Retries: RETRIES_MAX } : check);

export const isChecked = ({ Test = [] }: HealthConfig): boolean => Test[0] !== "NONE";

/**
 * Swarm takes environments, host names and mounts for Go templates, by which a value could read what Berth did not
 * give it.
 */
export const literal = (value: string): string => value.replaceAll("{{", `{{"{{"}}`);

const mountOf = ({ Type, Source, Target, ReadOnly, TmpfsOptions }: MountConfig[number]): object => ({
  Type,
  Source: literal(Source),
  Target: literal(Target),
  ReadOnly,
  ...(TmpfsOptions === undefined ? {} : { TmpfsOptions }),
});

function tmpfsMounts({ Tmpfs = {}, ShmSize }: HostConfig): readonly object[] {
  const mounts = Object.entries(Tmpfs).map(([target, options]) => ({
    Type: "tmpfs",
    Target: literal(target),
    ...tmpfsMount(target, options),
  }));
  if (ShmSize === undefined) return mounts;
  return [...mounts, { Type: "tmpfs", Target: "/dev/shm", TmpfsOptions: { SizeBytes: ShmSize } }];
}

/** From `name:address` to a line of `/etc/hosts`. */
function hostLine(extra: string): string {
  const at = extra.indexOf(":");
  return `${extra.slice(at + 1)} ${extra.slice(0, at)}`;
}

const resourcesOf = ({ Memory, NanoCpus, PidsLimit, MemoryReservation }: HostConfig, reservedCpus = 0) => ({
  Limits: {
    ...(Memory === undefined ? {} : { MemoryBytes: Memory }),
    ...(NanoCpus === undefined ? {} : { NanoCPUs: NanoCpus }),
    ...(typeof PidsLimit === "number" && PidsLimit > 0 ? { Pids: PidsLimit } : {}),
  },
  Reservations: {
    ...(MemoryReservation === undefined ? {} : { MemoryBytes: MemoryReservation }),
    ...(reservedCpus > 0 ? { NanoCPUs: Math.round(reservedCpus * NANOSECONDS) } : {}),
  },
});

/** @throws DomainError `deploy.start_failed` */
function assertSupported({ NetworkingConfig }: ContainerCreateOptions, host: HostConfig): void {
  const hasAddress = Object.values(NetworkingConfig?.EndpointsConfig ?? {}).some(({ IPAMConfig }) => IPAMConfig);
  const problems: readonly (readonly [string, boolean])[] = [
    ["privileged containers", host.Privileged === true],
    ["devices", (host.Devices ?? []).length > 0],
    ["GPUs by option", (host.DeviceRequests ?? []).length > 0],
    ["security options", (host.SecurityOpt ?? []).length > 0],
    ["a fixed address", hasAddress],
    ["chosen processors (cpuset)", host.CpusetCpus !== undefined],
    ["CPU shares", host.CpuShares !== undefined],
    ["limits of swap", host.MemorySwap !== undefined || host.MemorySwappiness !== undefined],
  ];
  const lacking = problems.flatMap(([what, isUsed]) => (isUsed ? what : []));
  if (lacking.length === 0) return;
  const message = `Docker Swarm does not support ${lacking.join(", ")}. Remove them from the application's settings, or deploy it to a server with Docker.`;
  throw new DomainError("deploy.start_failed", message);
}

const NANOSECONDS = 1e9;
const RETRIES_MAX = 1_000_000;
/** A swarm repeats what ends at once with this pause, and has no backoff. */
const RESTART_DELAY_SECONDS = 2;
