import { bootId, processStat } from "./procfs.ts";

/** Identifies one process for ever, although the kernel reuses process ids. Plain JSON. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** `undefined` when the process has exited. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = processStat(pid);
  return stat === undefined ? undefined : { pid, startTime: stat.startTime, bootId: bootId() };
}

/** Whether exactly this process is alive. */
export function isLiving(identity: ProcessIdentity): boolean {
  return identity.bootId === bootId() && processStat(identity.pid)?.startTime === identity.startTime;
}
