import { readFileSync } from "node:fs";
import type { ReleaseUsage } from "@berth/core/ports";
import { processStat } from "@berth/host";

const TICKS_PER_SECOND = 100; // Linux always reports 100 to programs, whatever the kernel uses internally.

/** `undefined`: none of these processes runs any more. */
export function usageOf(pids: readonly number[]): ReleaseUsage | undefined {
  const stats = pids.flatMap((pid) => processStat(pid) ?? []);
  if (stats.length === 0) return undefined;
  return {
    processes: stats.length,
    memoryBytes: stats.reduce((sum, { pid }) => sum + memoryBytes(pid), 0),
    cpuSeconds: stats.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0) / TICKS_PER_SECOND,
  };
}

function memoryBytes(pid: number): number {
  const kilobytes =
    field(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+) kB/m) ?? field(`/proc/${pid}/status`, /^VmRSS:\s+(\d+) kB/m);
  return (kilobytes ?? 0) * 1024;
}

/** `undefined` when the process has exited or may not be read. */
function field(path: string, pattern: RegExp): number | undefined {
  try {
    const [, value] = pattern.exec(readFileSync(path, "utf8")) ?? [];
    return value === undefined ? undefined : Number(value);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
