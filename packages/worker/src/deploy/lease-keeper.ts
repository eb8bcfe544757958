import type { Lease, SystemDeploymentStore } from "@berth/core/ports";
import type { Logger } from "../ports.ts";
import type { WorkerSettings } from "../settings.ts";
import type { WakeSignal } from "../wake-signal.ts";

/**
 * Why a run ends before its work is done. `lost`: another worker has the deployment, or may have. `given_up`: the
 * control plane stops, and its next start continues.
 */
export type Ending = "lost" | "given_up" | "cancelled" | "timeout";

/** A worker's hold of a running deployment: keeps its lease, and knows when the run must end. */
export interface LeaseKeeper {
  readonly lease: Lease;
  /** Fires with the first ending. */
  readonly signal: AbortSignal;
  /** Fires when the hold is lost or given up: what must not be cut short by a cancel listens to this one. */
  readonly leaving: AbortSignal;
  readonly ending: Ending | undefined;
  /** Nothing may be written or touched any more. */
  readonly isLost: boolean;
  readonly isCommitted: boolean;
  /** Asks now whether the deployment is still ours and wanted. */
  refresh(): Promise<void>;
  /** From here on neither a cancel nor the time limit ends the run: traffic flows to what it made. */
  commit(): void;
  lose(): void;
  /** Ends the run with `timeout` after this time. */
  limit(seconds: number): void;
  /** Lets the running step end within the grace time, then ends it. */
  giveUp(graceSeconds: number): void;
  readonly isGivingUp: boolean;
  close(): void;
}

export interface LeaseKeeperOptions {
  readonly deployments: SystemDeploymentStore;
  readonly lease: Lease;
  readonly settings: Pick<WorkerSettings, "leaseSeconds" | "renewSeconds">;
  readonly wakeSignal: WakeSignal;
  readonly logger: Logger;
}

export function keepLease({ deployments, lease, settings, wakeSignal, logger }: LeaseKeeperOptions): LeaseKeeper {
  const ended = new AbortController();
  const leaving = new AbortController();
  const closed = new AbortController();
  const endings = new Set<Ending>();
  let isCommitted = false;
  let isGivingUp = false;
  let expiry: NodeJS.Timeout | undefined;
  let grace: NodeJS.Timeout | undefined;
  let limit: NodeJS.Timeout | undefined;

  const end = (ending: Ending) => {
    endings.add(ending);
    const leaves = ending === "lost" || ending === "given_up";
    if (leaves) leaving.abort();
    if (leaves || !isCommitted) ended.abort();
  };
  // Without a renewal the work must stop before the lease expires, not when the database answers again.
  const expireAfter = (seconds: number) => {
    clearTimeout(expiry);
    expiry = setTimeout(() => end("lost"), Math.max(seconds, 0) * 1000 * LEASE_USE);
  };

  const refresh = async () => {
    const askedMs = performance.now();
    const answer = await deployments.renew(lease, settings.leaseSeconds);
    if (closed.signal.aborted) return;
    if (answer === "lost") return end("lost");
    expireAfter(settings.leaseSeconds - (performance.now() - askedMs) / 1000);
    if (answer === "cancel_requested") end("cancelled");
  };

  const renew = async () => {
    const waiter = wakeSignal.follow();
    while (!closed.signal.aborted && !endings.has("lost")) {
      await waiter.next(settings.renewSeconds, closed.signal);
      if (closed.signal.aborted) return;
      await refresh().catch((error: unknown) => logger.warn("A lease could not be renewed.", { lease, error }));
    }
  };

  expireAfter(settings.leaseSeconds);
  void renew();

  return {
    lease,
    signal: ended.signal,
    leaving: leaving.signal,
    get ending() {
      return RANK.find((ending) => endings.has(ending) && !(isCommitted && isRevocable(ending)));
    },
    get isLost() {
      return endings.has("lost");
    },
    get isCommitted() {
      return isCommitted;
    },
    refresh,
    commit: () => {
      isCommitted = true;
    },
    lose: () => end("lost"),
    limit: (seconds) => {
      limit ??= setTimeout(() => end("timeout"), Math.min(Math.max(seconds, 0) * 1000, TIMER_MS_MAX)).unref();
    },
    giveUp: (graceSeconds) => {
      isGivingUp = true;
      grace ??= setTimeout(() => end("given_up"), graceSeconds * 1000);
    },
    get isGivingUp() {
      return isGivingUp;
    },
    close: () => {
      closed.abort();
      for (const timer of [expiry, grace, limit]) clearTimeout(timer);
    },
  };
}

const isRevocable = (ending: Ending): boolean => ending === "cancelled" || ending === "timeout";

/** A cancelled deployment is undone even while the control plane stops: that takes less time than taking it over. */
const RANK: readonly Ending[] = ["lost", "cancelled", "timeout", "given_up"];
/** Clocks and event loops are late, never early. */
const LEASE_USE = 0.9;
const TIMER_MS_MAX = 2 ** 31 - 1;
