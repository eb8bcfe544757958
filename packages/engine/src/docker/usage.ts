import type { ReleaseUsage, TransferredBytes } from "@berth/core/ports";
import { statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerStats } from "dockerode";

/** `undefined`: the container was removed or does not run. */
export async function usageOf(docker: Docker, containerId: string): Promise<ReleaseUsage | undefined> {
  try {
    const container = docker.getContainer(containerId);
    // `one-shot` skips the second sample, on engines that support it.
    const read = readUsage(await container.stats({ stream: false, "one-shot": true }));
    return read ?? readProcesses(await container.top({ ps_args: "-o pid,rss,cputimes" }));
  } catch (cause) {
    const code = statusCodeOf(cause);
    if (code === 404 || code === 409) return undefined;
    throw cause;
  }
}

/** Summed usage of several containers; `undefined` when none runs. */
export function sumOf(all: readonly (ReleaseUsage | undefined)[]): ReleaseUsage | undefined {
  const usages = all.filter((usage) => usage !== undefined);
  if (usages.length < 2) return usages[0];
  const total = (numberOf: (usage: ReleaseUsage) => number) => usages.reduce((sum, usage) => sum + numberOf(usage), 0);
  const bytes = (key: "networkBytes" | "diskBytes") =>
    usages.every((usage) => usage[key] !== undefined)
      ? { [key]: { in: total((usage) => usage[key]?.in ?? 0), out: total((usage) => usage[key]?.out ?? 0) } }
      : {};
  return {
    processes: total(({ processes }) => processes),
    memoryBytes: total(({ memoryBytes }) => memoryBytes),
    cpuSeconds: total(({ cpuSeconds }) => cpuSeconds),
    ...bytes("networkBytes"),
    ...bytes("diskBytes"),
  };
}

/**
 * Fallback where the engine cannot read cgroup statistics: sums of its process table.
 * @param table Memory in KiB, processor time in seconds.
 */
export function readProcesses({ Processes }: { readonly Processes: unknown }): ReleaseUsage | undefined {
  const rows: readonly unknown[] = Array.isArray(Processes) ? Processes : [];
  if (rows.length === 0) return undefined;
  const sumOf = (column: number) =>
    rows.reduce<number>((sum, row) => sum + (Array.isArray(row) ? Number(row[column]) || 0 : 0), 0);
  return { processes: rows.length, memoryBytes: sumOf(1) * 1024, cpuSeconds: sumOf(2) };
}

export function readUsage(stats: Reading): ReleaseUsage | undefined {
  const { pids_stats, memory_stats, cpu_stats } = stats;
  // Engines that cannot read the statistics leave the fields empty or out.
  if (memory_stats?.usage === undefined || cpu_stats === undefined) return undefined;
  // Reclaimable cache is not counted, as in "docker stats". The field's name depends on the cgroup version.
  const cache = memory_stats.stats?.total_inactive_file ?? memory_stats.stats?.inactive_file ?? 0;
  return {
    processes: pids_stats?.current ?? 0,
    memoryBytes: Math.max(memory_stats.usage - cache, 0),
    cpuSeconds: cpu_stats.cpu_usage.total_usage / 1e9,
    networkBytes: networkOf(stats),
    diskBytes: diskOf(stats),
  };
}

type Reading = Partial<Pick<ContainerStats, "pids_stats" | "memory_stats" | "cpu_stats" | "networks" | "blkio_stats">>;

function networkOf({ networks }: Reading): TransferredBytes {
  const all = Object.values(networks ?? {});
  return {
    in: all.reduce((sum, { rx_bytes }) => sum + rx_bytes, 0),
    out: all.reduce((sum, { tx_bytes }) => sum + tx_bytes, 0),
  };
}

function diskOf({ blkio_stats }: Reading): TransferredBytes {
  // Null where the kernel does not count. The case of `op` differs between kernels.
  const rows = blkio_stats?.io_service_bytes_recursive ?? [];
  const sumOf = (what: string) =>
    rows.reduce((sum, { op, value }) => (op.toLowerCase() === what ? sum + value : sum), 0);
  return { in: sumOf("read"), out: sumOf("write") };
}
