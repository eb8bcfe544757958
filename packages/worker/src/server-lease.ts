import type { LeaseStore } from "@berth/core/ports";
import { batched } from "./batch.ts";
import type { WorkerSettings } from "./settings.ts";

/** Leases of servers: one control plane reconciles each server. */
export interface ServerLeases {
  /** `false`: another control plane holds the lease. */
  acquire(serverId: number): Promise<boolean>;
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
  const leaseMs = serverLeaseSeconds * 1000;

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
    for (const [id, atMs] of askedMs) if (nowMs - atMs > leaseMs) forget(id);
    return [...heldUntilMs].filter(([, untilMs]) => untilMs > nowMs).map(([id]) => id);
  };

  const forget = (serverId: number) => {
    askedMs.delete(serverId);
    heldUntilMs.delete(serverId);
  };

  return {
    async acquire(serverId) {
      const nowMs = performance.now();
      askedMs.set(serverId, nowMs);
      // Renewed after half of its time, since each renewal is a write.
      const leftMs = (heldUntilMs.get(serverId) ?? 0) - nowMs;
      if (leftMs > leaseMs / 2) return true;
      return ((await acquireBatch(serverId)) ?? 0) > 0;
    },
    async release(serverId) {
      forget(serverId);
      await leases.release(leaseName(serverId), owner);
    },
    fence: (serverId) => ({ name: leaseName(serverId), owner }),
  };
}

const leaseName = (serverId: number) => `server:${serverId}`;
