import { createHash } from "node:crypto";
import { DomainError } from "@berth/core";
import { NO_RUN_OPTIONS } from "@berth/core/application";
import {
  type ContainerOptions,
  containerName,
  type Gpus,
  type ReleaseSpec,
  type RunOptions,
  type StorageMount,
} from "@berth/core/deploy";
import { LABELS, releaseLabels, uninherited } from "@berth/docker-client";
import type { ContainerCreateOptions, DeviceRequest, HostConfig, MountConfig, PortMap } from "dockerode";
import { volumeName } from "./volumes.ts";

export interface ContainerPlace {
  readonly instance: string;
  /** The network that the container joins. */
  readonly network: string;
  readonly image: string;
}

/** Create options for a release's container. Pure: the same spec gives the same options. */
export function createOptions(spec: ReleaseSpec, place: ContainerPlace): ContainerCreateOptions {
  const options = containerOf(spec, place);
  return { ...options, Labels: { ...uninherited({ ...options.Labels, [LABELS.spec]: fingerprint(options) }) } };
}

/** Its image. @throws DomainError `deploy.start_failed` if it was built for another kind of engine */
export function imageOf({ artifact }: ReleaseSpec): string {
  if (artifact.type === "image") return artifact.image;
  const message = "The application was built for a server without Docker. Deploy again to build an image.";
  throw new DomainError("deploy.start_failed", message);
}

/** Default container options. */
export const NO_CONTAINER_OPTIONS: ContainerOptions = {
  command: null,
  healthCheck: null,
  isToldPort: true,
  networkAliases: [],
  portMappings: [],
  labels: {},
  run: NO_RUN_OPTIONS,
  limits: {
    memorySwapBytes: null,
    memorySwappiness: null,
    memoryReservationBytes: null,
    cpuset: null,
    cpuShares: null,
  },
  hasImageHealthCheck: true,
};

function containerOf(spec: ReleaseSpec, { instance, network, image }: ContainerPlace): ContainerCreateOptions {
  const container = spec.container ?? NO_CONTAINER_OPTIONS;
  const { run, networkAliases } = container;
  return {
    name: containerName(spec.resourceUuid, spec.deploymentUuid),
    Image: image,
    ...(container.command === null ? {} : { Cmd: [...container.command] }),
    Env: environmentOf(spec, container),
    Labels: { ...releaseLabels(spec, instance) },
    ExposedPorts: exposedPorts(spec, container),
    ...(run.hostname === null ? {} : { Hostname: run.hostname }),
    ...(run.user === null ? {} : { User: run.user }),
    ...(run.workingFolder === null ? {} : { WorkingDir: run.workingFolder }),
    ...(run.entrypoint === null ? {} : { Entrypoint: [run.entrypoint] }),
    ...(run.stopSignal === null ? {} : { StopSignal: run.stopSignal }),
    ...healthCheckOf(container),
    HostConfig: hostConfig(spec, container, network),
    NetworkingConfig: {
      EndpointsConfig: {
        [network]: {
          Aliases: [...networkAliases],
          ...(run.ip === null ? {} : { IPAMConfig: { IPv4Address: run.ip } }),
        },
      },
    },
  };
}

function healthCheckOf({
  healthCheck,
  hasImageHealthCheck,
}: ContainerOptions): Pick<ContainerCreateOptions, "Healthcheck"> {
  // The resource has another kind of health check, and two could contradict each other.
  if (healthCheck === null) return hasImageHealthCheck ? {} : { Healthcheck: { Test: ["NONE"] } };
  const { argv, intervalSeconds, timeoutSeconds, retries, startPeriodSeconds } = healthCheck;
  const times = {
    Interval: intervalSeconds * NANOSECONDS,
    Timeout: timeoutSeconds * NANOSECONDS,
    StartPeriod: startPeriodSeconds * NANOSECONDS,
    // Older engines ignore it and run the first check after one interval.
    ...(startPeriodSeconds > 0 ? { StartInterval: NANOSECONDS } : {}),
  };
  return { Healthcheck: { Test: ["CMD", ...argv], Retries: retries, ...times } };
}

const NANOSECONDS = 1e9;

function hostConfig(spec: ReleaseSpec, { run, limits, portMappings }: ContainerOptions, network: string): HostConfig {
  return {
    NetworkMode: network,
    RestartPolicy: { Name: "unless-stopped" },
    // Without an init, a program that ignores SIGTERM would delay every stop by the whole grace time.
    Init: run.hasInit ?? true,
    Mounts: spec.storages.flatMap(mountOf),
    PortBindings: portBindings(portMappings),
    // Limited, and a format that can be read back, whatever the engine's default is.
    LogConfig: { Type: "json-file", Config: { "max-size": "20m", "max-file": "3" } },
    PidsLimit: run.processesMax ?? PROCESSES_MAX,
    ...memoryLimits(spec, limits),
    ...(spec.limits.cpus === null ? {} : { NanoCpus: Math.round(spec.limits.cpus * 1e9) }),
    ...(limits.cpuset === null ? {} : { CpusetCpus: limits.cpuset }),
    ...(limits.cpuShares === null ? {} : { CpuShares: limits.cpuShares }),
    ...powers(run),
  };
}

function memoryLimits({ limits }: ReleaseSpec, more: ContainerOptions["limits"]): HostConfig {
  return {
    ...(limits.memoryBytes === null ? {} : { Memory: limits.memoryBytes }),
    ...(more.memorySwapBytes === null ? {} : { MemorySwap: more.memorySwapBytes }),
    ...(more.memorySwappiness === null ? {} : { MemorySwappiness: more.memorySwappiness }),
    ...(more.memoryReservationBytes === null ? {} : { MemoryReservation: more.memoryReservationBytes }),
  };
}

function powers(run: RunOptions): HostConfig {
  return {
    CapAdd: [...run.capAdd],
    CapDrop: [...run.capDrop],
    SecurityOpt: [...run.securityOpt],
    Sysctls: { ...run.sysctls },
    Ulimits: run.ulimits.map(({ name, soft, hard }) => ({ Name: name, Soft: soft, Hard: hard })),
    Devices: run.devices.map(({ hostPath, containerPath, permissions }) => ({
      PathOnHost: hostPath,
      PathInContainer: containerPath,
      CgroupPermissions: permissions,
    })),
    DeviceRequests: run.gpus === null ? [] : [gpuRequest(run.gpus)],
    Tmpfs: { ...run.tmpfs },
    ExtraHosts: [...run.extraHosts],
    Dns: [...run.dns],
    GroupAdd: [...run.groups],
    Privileged: run.isPrivileged,
    ReadonlyRootfs: run.isReadOnly,
    ...(run.shmBytes === null ? {} : { ShmSize: run.shmBytes }),
  };
}

const gpuRequest = ({ driver, count, ids, options }: Gpus): DeviceRequest => ({
  ...(driver === undefined ? {} : { Driver: driver }),
  ...(options === undefined ? {} : { Options: { ...options } }),
  Capabilities: [["gpu"]],
  ...(ids.length > 0 ? { DeviceIDs: [...ids] } : { Count: count === "all" ? -1 : count }),
});

/** Values may contain anything: the engine splits an entry at its first `=`. */
function environmentOf({ env, ports, deploymentUuid }: ReleaseSpec, { isToldPort }: ContainerOptions): string[] {
  const [port] = ports;
  const given = isToldPort ? { HOST: "0.0.0.0", ...(port === undefined ? {} : { PORT: String(port) }) } : {};
  const all = { ...given, ...env, BERTH_DEPLOYMENT_UUID: deploymentUuid };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}

function exposedPorts({ ports }: ReleaseSpec, { portMappings }: ContainerOptions): Record<string, object> {
  const all = [...ports, ...portMappings.map(({ containerPort }) => containerPort)];
  return Object.fromEntries(all.map((port) => [`${port}/tcp`, {}]));
}

function portBindings(mappings: ContainerOptions["portMappings"]): PortMap {
  const byPort = Map.groupBy(mappings, ({ containerPort }) => `${containerPort}/tcp`);
  return Object.fromEntries(
    [...byPort].map(([port, pairs]) => [port, pairs.map(({ serverPort }) => ({ HostPort: String(serverPort) }))]),
  );
}

/** No mount for files: they are copied into the container itself. */
function mountOf(mount: StorageMount): MountConfig {
  if (mount.type === "file") return [];
  const isVolume = mount.type === "volume";
  return [
    {
      Type: isVolume ? "volume" : "bind",
      Source: isVolume ? volumeName(mount.uuid) : mount.hostPath,
      Target: mount.mountPath,
      ReadOnly: mount.isReadOnly === true,
    },
  ];
}

/** A changed spec needs a new container; an unchanged one reuses the existing container. */
const fingerprint = (options: ContainerCreateOptions): string =>
  createHash("sha256").update(JSON.stringify(options)).digest("hex").slice(0, 32);

/** Far above what applications need, far below a server's limit of processes. */
export const PROCESSES_MAX = 4096;
