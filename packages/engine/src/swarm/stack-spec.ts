import { type ComposeService, recordOf } from "@berth/core/compose";
import type { ReleaseRef } from "@berth/core/deploy";
import { LABELS, type Labels } from "@berth/docker-client";
import type { ContainerCreateOptions, ContainerInspectInfo, CreateServiceOptions, HealthConfig } from "dockerode";
import { DEPENDS_ON } from "../docker/compose/order.ts";
import { STOP_GRACE_SECONDS } from "../docker/engine.ts";
import { definition, isChecked, type ServicePlace, type ServiceTasks, serviceName } from "./service-spec.ts";

export interface MemberPlace extends Omit<ServicePlace, "network"> {
  readonly networks: ServiceTasks["networks"];
  /** Network with the address for requests. */
  readonly scope: string;
}

/**
 * Definition of the service of one container of a compose file. Pure.
 * @param draft The container as the compose tool makes it.
 * @param service As in the plan, with mounts and labels.
 */
export function memberSpec(
  ref: ReleaseRef,
  draft: ContainerInspectInfo,
  service: Readonly<Record<string, unknown>>,
  place: MemberPlace,
): CreateServiceOptions {
  const labels: Labels = recordOf(service.labels) as Labels; // Made by the plan.
  const order = Number(labels[LABELS.order]) || 0;
  return definition(ref, place, {
    name: serviceName(ref.deploymentUuid, order),
    labels: {
      [LABELS.container]: labels[LABELS.container] ?? "",
      [LABELS.order]: String(order),
      [LABELS.spec]: labels[LABELS.spec] ?? "",
    },
    options: { ...optionsOf(draft, service), Labels: labelsOf(draft, service, place.scope) },
    networks: place.networks,
    replicas: Number(service.scale ?? 1),
    healthCheck: prompt,
    graceSeconds: Number(Reflect.get(draft.Config, "StopTimeout") ?? STOP_GRACE_SECONDS),
    restarts: restartsOf(draft),
    reservedCpus: Number(recordOf(recordOf(recordOf(service.deploy).resources).reservations).cpus) || 0,
  });
}

/**
 * Of the tool's own labels only the one by which containers are stopped in order: with the others, it would take the
 * container for one of a project of the manager.
 */
function labelsOf(draft: ContainerInspectInfo, service: Readonly<Record<string, unknown>>, scope: string): Labels {
  const own = Object.entries(draft.Config.Labels).filter(([name]) => !name.startsWith("com.docker.compose."));
  const { depends_on: needed } = service;
  const names = Array.isArray(needed) ? needed.map(String) : Object.keys(recordOf(needed));
  return { ...Object.fromEntries(own), [DEPENDS_ON]: names.join(","), [LABELS.scope]: scope };
}

function optionsOf(
  { Config, HostConfig }: ContainerInspectInfo,
  service: Readonly<Record<string, unknown>>,
): ContainerCreateOptions {
  const { Entrypoint, Cmd, Env, User, WorkingDir, Healthcheck, Tty, OpenStdin } = Config;
  const StopSignal: unknown = Reflect.get(Config, "StopSignal"); // Missing in the types.
  return {
    ...(Entrypoint == null ? {} : { Entrypoint }),
    ...(Cmd == null ? {} : { Cmd }),
    Env,
    ...(typeof service.hostname === "string" ? { Hostname: service.hostname } : {}),
    ...(User ? { User } : {}),
    ...(WorkingDir ? { WorkingDir } : {}),
    ...(typeof StopSignal === "string" && StopSignal !== "" ? { StopSignal } : {}),
    ...(Healthcheck?.Test === undefined ? {} : { Healthcheck }),
    Tty,
    OpenStdin,
    HostConfig: {
      ...limitsOf(HostConfig),
      CapAdd: HostConfig.CapAdd ?? [],
      CapDrop: HostConfig.CapDrop ?? [],
      Ulimits: HostConfig.Ulimits ?? [],
      Sysctls: HostConfig.Sysctls ?? {},
      GroupAdd: HostConfig.GroupAdd ?? [],
      // As compose files say: without an init, unless asked for.
      Init: HostConfig.Init ?? false,
      ReadonlyRootfs: HostConfig.ReadonlyRootfs === true,
      Tmpfs: HostConfig.Tmpfs ?? {},
      ...(service.shm_size == null ? {} : { ShmSize: HostConfig.ShmSize }),
      ExtraHosts: HostConfig.ExtraHosts ?? [],
      Dns: HostConfig.Dns ?? [],
      DnsSearch: HostConfig.DnsSearch ?? [],
      DnsOptions: HostConfig.DnsOptions ?? [],
      Mounts: mountsOf(service.volumes),
    },
  };
}

/** Docker reports 0 for a limit that is not set. */
const limitsOf = ({ Memory, NanoCpus, MemoryReservation, PidsLimit }: ContainerInspectInfo["HostConfig"]) => ({
  ...(Memory ? { Memory } : {}),
  ...(NanoCpus ? { NanoCpus } : {}),
  ...(MemoryReservation ? { MemoryReservation } : {}),
  ...(PidsLimit ? { PidsLimit } : {}),
});

/** Mounts of the plan: volumes of Berth's, and what needs no source. */
function mountsOf(volumes: unknown): NonNullable<NonNullable<ContainerCreateOptions["HostConfig"]>["Mounts"]> {
  return (Array.isArray(volumes) ? volumes : []).map((volume: NonNullable<ComposeService["volumes"]>[number]) => {
    if (typeof volume === "string") return { Type: "volume", Source: "", Target: volume.split(":")[0] ?? "" };
    const { type, source, target, read_only, tmpfs } = volume;
    const size = Number(recordOf(tmpfs).size);
    return {
      Type: type === "tmpfs" ? "tmpfs" : "volume",
      Source: type === "tmpfs" ? "" : (source ?? ""),
      Target: target,
      ReadOnly: read_only === true,
      ...(type === "tmpfs" && size > 0 ? { TmpfsOptions: { SizeBytes: size, Mode: 0o1777 } } : {}),
    };
  });
}

function restartsOf({ HostConfig }: ContainerInspectInfo): ServiceTasks["restarts"] {
  const { Name, MaximumRetryCount = 0 } = HostConfig.RestartPolicy ?? {};
  if (Name === "on-failure") return { Condition: "on-failure", MaxAttempts: MaximumRetryCount };
  return { Condition: Name === "always" || Name === "unless-stopped" ? "any" : "none", MaxAttempts: 0 };
}

/**
 * A swarm gives a container its names only once its check has passed, and the engine runs the first check after a whole
 * interval. So the interval is short, and failures are allowed for as long as the compose file says.
 */
export function prompt(check: HealthConfig): HealthConfig {
  if (!isChecked(check)) return check;
  const interval = check.Interval || INTERVAL_DEFAULT_NANOSECONDS;
  const retries = check.Retries || RETRIES_DEFAULT;
  const Interval = Math.min(interval, INTERVAL_NANOSECONDS_MAX);
  return { ...check, Interval, Retries: Math.ceil((retries * interval) / Interval) };
}

const INTERVAL_DEFAULT_NANOSECONDS = 30e9; // Docker's own.
const RETRIES_DEFAULT = 3; // Docker's own.
const INTERVAL_NANOSECONDS_MAX = 5e9; // As Docker's own interval while a container starts, in engines that have one.
