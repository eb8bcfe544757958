import type { ReleaseLimits } from "@berth/core/deploy";

/** `null` in one of them: no limit. */
export interface CgroupLimits extends ReleaseLimits {
  readonly processesMax: number;
}

export type Controller = "memory" | "cpu" | "pids";

export const CONTROLLERS: readonly Controller[] = ["memory", "cpu", "pids"];

/** Names and values of the files that set these limits of a control group, by controller. */
export function limitFiles(
  version: 1 | 2,
  { memoryBytes, cpus, processesMax }: CgroupLimits,
): Readonly<Record<Controller, Readonly<Record<string, string>>>> {
  const pids = { "pids.max": String(processesMax) };
  if (version === 2) {
    return {
      memory: { "memory.max": String(memoryBytes ?? "max") },
      cpu: { "cpu.max": `${cpus === null ? "max" : quota(cpus)} ${CPU_PERIOD_MICROSECONDS}` },
      pids,
    };
  }
  return {
    memory: { "memory.limit_in_bytes": String(memoryBytes ?? -1) },
    cpu: {
      "cpu.cfs_period_us": String(CPU_PERIOD_MICROSECONDS),
      "cpu.cfs_quota_us": String(cpus === null ? -1 : quota(cpus)),
    },
    pids,
  };
}

const CPU_PERIOD_MICROSECONDS = 100_000; // The kernel's own default.

const quota = (cpus: number) => Math.max(1000, Math.round(cpus * CPU_PERIOD_MICROSECONDS));
