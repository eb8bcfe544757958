import type { LeaseStore } from "@berth/core";
import { batched } from "./batch.ts";
import type { WorkerSettings } from "./settings.ts";

/** One replica looks after a server. */
export interface ServerHolds {
  /** `false`: another replica looks after it. */
  hold(serverId: number): Promise<boolean>;
  release(serverId: number): Promise<void>;
}

export function serverHolds(
  leases: LeaseStore,
  owner: string,
  { serverLeaseSeconds }: Pick<WorkerSettings, "serverLeaseSeconds">,
): ServerHolds {
  const heldUntilMs = new Map<number, number>();

  const acquire = batched(async (serverIds: readonly number[]) => {
    // A lease runs from when it was asked for at the latest.
    const untilMs = performance.now() + serverLeaseSeconds * 1000;
    const held = await leases.acquireAll(serverIds.map(leaseName), owner, serverLeaseSeconds);
    return new Map(serverIds.map((id) => [id, held.has(leaseName(id)) ? untilMs : 0]));
  });

  return {
    async hold(serverId) {
      // Renewed in the middle of its time, since each renewal is a write.
      const leftMs = (heldUntilMs.get(serverId) ?? 0) - performance.now();
      if (leftMs > (serverLeaseSeconds * 1000) / 2) return true;
      const untilMs = (await acquire(serverId)) ?? 0;
      heldUntilMs.set(serverId, untilMs);
      return untilMs > 0;
    },
    async release(serverId) {
      heldUntilMs.delete(serverId);
      await leases.release(leaseName(serverId), owner);
    },
  };
}

const leaseName = (serverId: number) => `server:${serverId}`;
