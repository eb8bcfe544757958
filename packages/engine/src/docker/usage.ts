import type { ReleaseUsage } from "@berth/core";
import type Docker from "dockerode";
import type { ContainerStats } from "dockerode";
import { statusCodeOf } from "./client.ts";

/** `undefined`: it is gone or does not run. */
export async function usageOf(docker: Docker, containerId: string): Promise<ReleaseUsage | undefined> {
  try {
    // Without the second sample, where the engine knows that.
    return readUsage(await docker.getContainer(containerId).stats({ stream: false, "one-shot": true }));
  } catch (cause) {
    const code = statusCodeOf(cause);
    if (code === 404 || code === 409) return undefined;
    throw cause;
  }
}

export function readUsage({ pids_stats, memory_stats, cpu_stats }: ContainerStats): ReleaseUsage | undefined {
  // Of a container that does not run everything is missing.
  if (memory_stats.usage === undefined) return undefined;
  const { stats } = memory_stats;
  // As "docker stats" does: what the kernel takes back at once is not counted. The name depends on the cgroups' version.
  const cache = stats?.total_inactive_file ?? stats?.inactive_file ?? 0;
  return {
    processes: pids_stats?.current ?? 0,
    memoryBytes: Math.max(memory_stats.usage - cache, 0),
    cpuSeconds: cpu_stats.cpu_usage.total_usage / 1e9,
  };
}
