import { isDatabaseUnavailable } from "@berth/core";
import type { ClaimRequest, QueueName, RenewedRun } from "@berth/core/ports";
import type { ValidationDeps } from "./server-validation.ts";
import { pause, within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/**
 * Why a run is broken off. `gone`: what it is of is being deleted. `cancelled`: a user wants it to end. `stopped`: the
 * control plane stops. `lost`: it is not this worker's any more, which writes nothing of it then.
 */
export type RunEnding = "gone" | "cancelled" | "stopped" | "lost";

// Every abort passes one of them as its reason.
export const endingOf = (signal: AbortSignal): RunEnding => signal.reason as RunEnding;

/** Work that waits in the database, and is held by a lease while it runs. */
export interface LeasedRunKind<Run> {
  /** For the log, in the plural. */
  readonly title: string;
  readonly queue: QueueName;
  readonly concurrentMax: number;
  uuidOf(run: Run): string;
  /** Before anything is taken from the queue: fills it with what was asked for. */
  readonly requests?: { readonly queue: QueueName; begin(serverIds: readonly number[]): Promise<number> };
  claim(serverIds: readonly number[], request: ClaimRequest): Promise<Run | undefined>;
  renew(owner: string, uuids: readonly string[], leaseSeconds: number): Promise<readonly RenewedRun[]>;
  /** Never rejects. */
  run(run: Run, signal: AbortSignal): Promise<void>;
  /** Ends what others left. Answers how many. */
  endAbandoned(at: Date): Promise<number>;
  /** Now and then. */
  tidy?(signal: AbortSignal): Promise<void>;
}

/** Runs what waits, on the servers of this control plane. */
export interface LeaseRunner {
  start(): void;
  /** Takes no more, lets what runs end within the grace time, and ends the rest as failed. */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
}

/**
 * Writes down how a run ended. While the database is away it is tried again, as long as the run is its owner's: hours of
 * work are not lost for a moment, nor what a cancelled one left. That one is cancelled whoever ends it, so not for ever.
 */
export async function written<T>(signal: AbortSignal, write: () => Promise<T>): Promise<T> {
  for (let triesLeft = TRIES_WHEN_CANCELLED; ; ) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if (signal.aborted) {
        triesLeft -= 1;
        if (endingOf(signal) !== "cancelled" || triesLeft === 0) throw error;
      }
      await pause(WRITE_AGAIN_SECONDS, signal.aborted ? undefined : signal);
    }
  }
}

const WRITE_AGAIN_SECONDS = 0.5;
const TRIES_WHEN_CANCELLED = 20;

interface Running {
  readonly end: (ending: RunEnding) => void;
  readonly ended: Promise<void>;
}

/**
 * A worker that goes away does not renew its leases, and whoever sees that one ran out ends the run as failed: it is
 * not run again, since it may have taken effect.
 */
export function createLeaseRunner<Run>(
  deps: ValidationDeps,
  wakeSignal: WakeSignal,
  kind: LeasedRunKind<Run>,
): LeaseRunner {
  const { stores, clock, settings, logger, owner } = deps;
  const running = new Map<string, Running>();
  const [stopping, closed] = [new AbortController(), new AbortController()];
  const loops: Promise<void>[] = [];
  let expiry: NodeJS.Timeout | undefined;

  /** Without a renewal the runs must stop before another worker ends them, whether the database refuses or does not answer. */
  const heldUntil = (untilMs: number) => {
    clearTimeout(expiry);
    const lose = () => {
      for (const { end } of running.values()) end("lost");
    };
    expiry = setTimeout(lose, Math.max(untilMs - performance.now(), 0) * LEASE_USE);
  };

  const claimAll = async () => {
    const busy = await stores.queues.busy();
    const isRequested = kind.requests !== undefined && busy.has(kind.requests.queue);
    if (!busy.has(kind.queue) && !isRequested) return;
    const ids = (await stores.servers.list()).filter(deps.ownsServer).map(({ id }) => id);
    if (ids.length === 0 || stopping.signal.aborted) return;
    if (isRequested) await kind.requests.begin(ids);
    while (running.size < kind.concurrentMax && !stopping.signal.aborted) {
      const askedMs = performance.now();
      const taken = await kind.claim(ids, { owner, leaseSeconds: settings.leaseSeconds, at: clock.now() });
      if (taken === undefined) return;
      run(taken, askedMs);
    }
  };

  const run = (taken: Run, askedMs: number) => {
    const aborter = new AbortController();
    const uuid = kind.uuidOf(taken);
    if (running.size === 0) heldUntil(askedMs + settings.leaseSeconds * 1000);
    const ended = kind.run(taken, aborter.signal).finally(() => {
      running.delete(uuid);
      wakeSignal.beat();
    });
    running.set(uuid, { end: (ending) => aborter.abort(ending), ended });
  };

  const renewAll = async () => {
    const uuids = [...running.keys()];
    if (uuids.length === 0) return;
    const askedMs = performance.now();
    const renewed = await kind.renew(owner, uuids, settings.leaseSeconds);
    const held = new Map(renewed.map((run) => [run.uuid, run.is_cancel_requested]));
    heldUntil(askedMs + settings.leaseSeconds * 1000);
    for (const uuid of uuids) {
      if (!held.has(uuid)) running.get(uuid)?.end("gone");
      else if (held.get(uuid)) running.get(uuid)?.end("cancelled");
    }
  };

  const tidy = async () => {
    const isBusy = (await stores.queues.busy()).has(kind.queue);
    const count = isBusy ? await kind.endAbandoned(clock.now()) : 0;
    if (count > 0) logger.warn(`${kind.title} were broken off.`, { count });
    await kind.tidy?.(stopping.signal);
  };

  const repeat = async (work: () => Promise<void>, seconds: number, { signal }: AbortController, isPrompt = false) => {
    const waiter = wakeSignal.follow();
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        const report = isDatabaseUnavailable(error) ? logger.debug : logger.warn;
        report(`${kind.title} failed.`, { error });
        await pause(Math.min(1, seconds), signal);
      }
      if (isPrompt) await waiter.next(seconds, signal);
      else await pause(seconds, signal);
    }
  };

  return {
    start() {
      loops.push(
        repeat(claimAll, settings.pollSeconds, stopping, true),
        // A cancel is heard of at once.
        repeat(renewAll, settings.renewSeconds, closed, true),
        repeat(tidy, settings.reconcileSeconds, stopping),
      );
    },
    async stop({ graceSeconds }) {
      stopping.abort();
      const all = () => Promise.all([...running.values()].map(({ ended }) => ended));
      await within(graceSeconds, all());
      for (const { end } of running.values()) end("stopped");
      await within(settings.abortSecondsMax, all());
      closed.abort();
      clearTimeout(expiry);
      await within(STOP_SECONDS_MAX, Promise.all(loops));
    },
  };
}

/** Prunes in small batches, at most every ten minutes. */
export function pruning(prune: () => Promise<number>): (signal: AbortSignal) => Promise<void> {
  let prunedMs = Number.NEGATIVE_INFINITY;
  return async (signal) => {
    if (performance.now() - prunedMs < PRUNE_INTERVAL_MS) return;
    prunedMs = performance.now();
    while ((await prune()) > 0 && !signal.aborted);
  };
}

const PRUNE_INTERVAL_MS = 600_000;
/** Clocks and event loops are late, never early. */
const LEASE_USE = 0.9;
const STOP_SECONDS_MAX = 5;
