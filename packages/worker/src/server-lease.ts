import type { LeaseStore } from "@berth/core/ports";
import { batched } from "./batch.ts";
import type { WorkerSettings } from "./settings.ts";

/** Leases of servers: one control plane reconciles each server. */
export interface ServerLeases {
  /** `false`: another control plane holds the lease. */
  acquire(serverId: number): Promise<boolean>;
  /**
   * Renews a held lease until the work ends. A visit to a slow server may take longer than a lease: without this,
   * another control plane would take the server over and lose it in turn.
   */
  during<T>(serverId: number, work: () => Promise<T>): Promise<T>;
  release(serverId: number): Promise<void>;
  /** Name and owner of a server's lease, for writes that are fenced by it. */
  fence(serverId: number): { readonly name: string; readonly owner: string };
}

export function createServerLeases(
  leases: LeaseStore,
  owner: string,
  { serverLeaseSeconds }: Pick<WorkerSettings, "serverLeaseSeconds">,
): ServerLeases {
  const heldUntilMs = new Map<number, number>();
  const askedMs = new Map<number, number>();
  const inUse = new Set<number>();
  const leaseMs = serverLeaseSeconds * 1000;
  let renewal: NodeJS.Timeout | undefined;

  const acquireBatch = batched(async (serverIds: readonly number[]) => {
    // Renews leases that expire soon as well, so that all are renewed together from then on.
    const ids = [...new Set([...serverIds, ...lookedAfter()])];
    // Counted from the request, which is never later than the database's own time.
    const untilMs = performance.now() + leaseMs;
    const held = await leases.acquireAll(ids.map(leaseName), owner, serverLeaseSeconds);
    for (const id of ids) {
      // A lease that was released meanwhile counts as not held, whatever the answer.
      if (askedMs.has(id)) heldUntilMs.set(id, held.has(leaseName(id)) ? untilMs : 0);
    }
    return heldUntilMs;
  });

  const lookedAfter = () => {
    const nowMs = performance.now();
    for (const [id, atMs] of askedMs) if (nowMs - atMs > leaseMs && !inUse.has(id)) forget(id);
    return [...heldUntilMs].filter(([, untilMs]) => untilMs > nowMs).map(([id]) => id);
  };

  const forget = (serverId: number) => {
    askedMs.delete(serverId);
    heldUntilMs.delete(serverId);
  };

  const leftMs = (serverId: number) => (heldUntilMs.get(serverId) ?? 0) - performance.now();
  // Renewed after half of its time, since each renewal is a write.
  const isDue = (serverId: number) => leftMs(serverId) <= leaseMs / 2;

  const renewWhileInUse = () => {
    if (renewal !== undefined) return;
    renewal = setTimeout(() => {
      renewal = undefined;
      const due = [...inUse].find((id) => isDue(id) && leftMs(id) > 0);
      // One that could not be renewed is tried again, while there is time.
      if (due !== undefined) acquireBatch(due).catch(() => undefined);
      if (inUse.size > 0) renewWhileInUse();
    }, leaseMs / 8).unref();
  };

  return {
    async acquire(serverId) {
      askedMs.set(serverId, performance.now());
      return !isDue(serverId) || ((await acquireBatch(serverId)) ?? 0) > 0;
    },
    async during(serverId, work) {
      inUse.add(serverId);
      renewWhileInUse();
      try {
        return await work();
      } finally {
        inUse.delete(serverId);
      }
    },
    async release(serverId) {
      forget(serverId);
      await leases.release(leaseName(serverId), owner);
    },
    fence: (serverId) => ({ name: leaseName(serverId), owner }),
  };
}

const leaseName = (serverId: number) => `server:${serverId}`;
