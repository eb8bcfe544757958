import { bootId, processStat } from "./procfs.ts";

/** Names one process for ever, although the kernel gives its number again later. Plain JSON. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** `undefined` when the process has ended already. */
export function identify(pid: number): ProcessIdentity | undefined {
  const stat = processStat(pid);
  return stat === undefined ? undefined : { pid, startTime: stat.startTime, bootId: bootId() };
}

/** Whether this very process lives. */
export function isLiving(identity: ProcessIdentity): boolean {
  return identity.bootId === bootId() && processStat(identity.pid)?.startTime === identity.startTime;
}
