import type { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import { interpolateLabel, readLabels } from "../application/container-label.ts";
import { gpusOf } from "../application/gpu.ts";
import { readRunOptions } from "../application/run-options.ts";
import type { ContainerLimits, ContainerOptions, PortMapping } from "./container.ts";
import { memoryBytes } from "./memory.ts";

type Env = Readonly<Record<string, string>>;

/** Container options from an application's settings. A preview shares neither ports nor names with its application. */
export function containerOptions(
  settings: ApplicationSettings,
  { custom_labels }: Pick<ApplicationSecrets, "custom_labels">,
  env: Env,
  pullRequestId: number,
): ContainerOptions {
  const { options } = readRunOptions(settings.custom_docker_run_options);
  const run = { ...options, gpus: gpusOf(settings) ?? options.gpus };
  const isPreview = pullRequestId !== 0;
  return {
    ...OWN_START,
    networkAliases: isPreview ? [] : listOf(settings.custom_network_aliases),
    portMappings: isPreview ? [] : portMappingsOf(settings.ports_mappings),
    labels: labelsOf(custom_labels, settings.is_container_label_escape_enabled, env),
    run: isPreview ? { ...run, ip: null } : run,
    limits: containerLimits(settings),
    hasImageHealthCheck: !settings.health_check_enabled,
  };
}

/** Starts the image's own command with HOST and PORT; Berth or the image checks its health. */
const OWN_START = { command: null, healthCheck: null, isToldPort: true } as const;

const listOf = (text: string | null): readonly string[] => (text ?? "").split(",").filter(Boolean);

/** `8080:80,8443:443` */
export const portMappingsOf = (text: string | null): readonly PortMapping[] =>
  listOf(text).map((pair) => {
    const [serverPort, containerPort] = pair.split(":").map(Number);
    return { serverPort: serverPort ?? 0, containerPort: containerPort ?? 0 };
  });

function labelsOf(text: string | null, isEscaped: boolean, env: Env): Readonly<Record<string, string>> {
  const labels = readLabels(text);
  if (isEscaped) return labels;
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [name, interpolateLabel(value, env)]));
}

type LimitTexts = Pick<
  ApplicationSettings,
  | "limits_memory"
  | "limits_memory_swap"
  | "limits_memory_swappiness"
  | "limits_memory_reservation"
  | "limits_cpuset"
  | "limits_cpu_shares"
>;

export function containerLimits(settings: LimitTexts): ContainerLimits {
  const isLimited = memoryBytes(settings.limits_memory) !== null;
  const swap = settings.limits_memory_swap === "-1" ? -1 : memoryBytes(settings.limits_memory_swap);
  return {
    // Docker refuses a swap limit without a memory limit.
    memorySwapBytes: isLimited ? swap : null,
    memorySwappiness: isLimited ? unless(settings.limits_memory_swappiness, DEFAULT_SWAPPINESS) : null,
    memoryReservationBytes: memoryBytes(settings.limits_memory_reservation),
    cpuset: settings.limits_cpuset || null,
    cpuShares: unless(settings.limits_cpu_shares, DEFAULT_CPU_SHARES) || null,
  };
}

/** Omits defaults, since some kernels warn about settings they do not support. */
const unless = (value: number, usual: number): number | null => (value === usual ? null : value);
const DEFAULT_SWAPPINESS = 60;
const DEFAULT_CPU_SHARES = 1024;
