import { readdirSync, readFileSync } from "node:fs";
import autocannon from "autocannon";

const CLOCK_TICK_MS = 10; // sysconf(_SC_CLK_TCK) is 100 on every Linux that Node runs on.

/** User and system time that a process has used, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS;
}

/** Resident memory of a process, in MB. */
export const rssMb = (pid: number): number => kbOf(`/proc/${pid}/status`, /^VmRSS:\s+(\d+)/m) / 1024;

/** Proportional memory: shared pages are divided among the processes that share them. */
export const pssMb = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + kbOf(`/proc/${pid}/smaps_rollup`, /^Pss:\s+(\d+)/m), 0) / 1024;

/**
 * Processes whose environment or command line contains the data folder: all of the server's, even those adopted by
 * init.
 */
export function processesOf(dataFolder: string, mainPid: number): readonly number[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const children = new Map<number, number[]>();
  const named: number[] = [mainPid];
  for (const pid of all) {
    const parent = parentOf(pid);
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), pid]);
    if (textOf(`/proc/${pid}/cmdline`).includes(dataFolder)) named.push(pid);
  }
  const found = new Set<number>();
  const add = (pid: number): void => {
    if (found.has(pid)) return;
    found.add(pid);
    for (const child of children.get(pid) ?? []) add(child);
  };
  for (const pid of named) add(pid);
  return [...found];
}

export interface Load {
  readonly requestsPerSecond: number;
  readonly cpuMsPerRequest: number;
  readonly p99Ms: number;
  readonly failed: number;
}

/** Sends requests for some seconds, and measures the CPU time of the answering process. */
export async function load(options: {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
  readonly seconds: number;
  readonly connections?: number;
}): Promise<Load> {
  const before = cpuMs(options.pid);
  const result = await autocannon({
    url: options.url,
    connections: options.connections ?? 16,
    duration: options.seconds,
    headers: { authorization: `Bearer ${options.token}` },
  });
  const requests = result.requests.total;
  return {
    requestsPerSecond: result.requests.average,
    cpuMsPerRequest: (cpuMs(options.pid) - before) / Math.max(1, requests),
    p99Ms: result.latency.p99,
    failed: result.non2xx + result.errors,
  };
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

function parentOf(pid: number): number | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === "") return undefined;
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

function kbOf(file: string, pattern: RegExp): number {
  return Number(pattern.exec(textOf(file))?.[1] ?? 0);
}

/** A process may exit between listing and reading, and is then not counted. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
