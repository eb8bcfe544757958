import { isDatabaseUnavailable } from "@berth/core";
import type { LeasedRuns, QueueName, ServerRecord, WakeTopic } from "@berth/core/ports";
import { createLeaseKeeper, type LeaseKeeper, type RunnerLeaseKeeper } from "./lease-keeper.ts";
import { createLoops } from "./loop.ts";
import type { ValidationDeps } from "./server-validation.ts";
import { pause, within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** A kind of work that waits in a table and that one worker at a time runs under a lease. */
export interface LeasedRunKind<Run> extends LeasedRuns<Run> {
  /** Name of the work for the log, in the plural. */
  readonly title: string;
  /** Nothing is claimed while these are empty. */
  readonly queues: readonly QueueName[];
  /** Wakes its loops: queued, cancelled or ended. */
  readonly topic: WakeTopic;
  readonly concurrentMax: number;
  uuidOf(run: Run): string;
  /** Runs of one server are run one after the other. Default: side by side. */
  readonly serverIdOf?: (run: Run) => number;
  /** Whether this worker can run work on the server. Default: servers of this control plane. */
  reaches?(server: ServerRecord): boolean;
  /** Queues work that is due or was requested, before anything is claimed. */
  prepare?(servers: readonly ServerRecord[], busy: ReadonlySet<QueueName>): Promise<void>;
  /** Ending of a run whose lease was not renewed. */
  readonly unrenewed: "gone" | "lost";
  run(run: Run, keeper: LeaseKeeper): Promise<void>;
  /** On a stop, unfinished runs are released, so that the next worker need not wait for the lease to expire. */
  readonly isHandedOver?: boolean;
  /** Ends abandoned runs that must not be repeated, and returns their number. Default: they are claimed again. */
  endAbandoned?(at: Date): Promise<number>;
  /** Now and then. */
  tidy?(signal: AbortSignal, busy: ReadonlySet<QueueName>): Promise<void>;
}

/** Runs waiting work on the servers of this control plane. */
export interface LeaseRunner {
  start(): void;
  /** Claims nothing more; running work continues. */
  pause(): void;
  resume(): void;
  /** Claims nothing more, waits for running work within the grace time, and then ends it. */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
}

interface Running {
  readonly uuid: string;
  readonly serverId: number | undefined;
  readonly keeper: RunnerLeaseKeeper;
  readonly ended: Promise<void>;
}

export function createLeaseRunner<Run>(
  deps: ValidationDeps,
  wakeSignal: WakeSignal,
  kind: LeasedRunKind<Run>,
): LeaseRunner {
  const { stores, clock, settings, logger, owner } = deps;
  const leaseMs = settings.leaseSeconds * 1000;
  const teamRunsMax = Math.max(1, Math.floor((kind.concurrentMax * settings.teamSharePercent) / 100));
  const running = new Map<string, Running>();
  const reaches = kind.reaches ?? deps.ownsServer;
  let isPaused = false;
  let isIdle = false;

  const claimAll = async (stopping: AbortSignal) => {
    const busy = await stores.queues.busy();
    isIdle = !kind.queues.some((name) => busy.has(name));
    if (isIdle && kind.prepare === undefined) return;
    const servers = (await stores.servers.list()).filter((server) => reaches(server));
    await kind.prepare?.(servers, busy);
    if (isIdle) return;
    while (running.size < kind.concurrentMax && !stopping.aborted && !isPaused) {
      const engaged = new Set([...running.values()].map(({ serverId }) => serverId));
      const serverIds = servers.map(({ id }) => id).filter((id) => !engaged.has(id));
      if (serverIds.length === 0) return;
      const askedMs = performance.now();
      const { leaseSeconds } = settings;
      const request = { owner, leaseSeconds, at: clock.now(), teamRunsMax };
      const claimed = await kind.claim(serverIds, request);
      if (claimed === undefined) return;
      begin(claimed, askedMs + leaseMs);
    }
  };

  const begin = (claimed: Run, untilMs: number) => {
    const uuid = kind.uuidOf(claimed);
    const earlier = running.get(uuid);
    const keeper = createLeaseKeeper(untilMs, renewAll);
    const work = async () => {
      // If this worker lost the same run a moment ago, that earlier attempt must end first.
      if (earlier !== undefined) await within(settings.abortSecondsMax, earlier.ended);
      await kind.run(claimed, keeper);
    };
    const ended = work()
      .catch((error: unknown) =>
        logger.warn(`${kind.title}: one was interrupted. It continues when its lease has expired.`, { uuid, error }),
      )
      .finally(() => {
        keeper.close();
        if (running.get(uuid)?.keeper === keeper) running.delete(uuid);
        wakeSignal.notify(kind.topic);
      });
    running.set(uuid, { uuid, serverId: kind.serverIdOf?.(claimed), keeper, ended });
  };

  const renewAll = async () => {
    const asked = [...running.values()].filter(({ keeper }) => !keeper.isLost);
    if (asked.length === 0) return;
    const askedMs = performance.now();
    const uuids = asked.map(({ uuid }) => uuid);
    const renewed = await kind.renew(owner, uuids, settings.leaseSeconds);
    const held = new Map(renewed.map((run) => [run.uuid, run.is_cancel_requested]));
    for (const { uuid, keeper } of asked) {
      if (held.has(uuid)) keeper.extend(askedMs + leaseMs);
      else keeper.end(kind.unrenewed);
      if (held.get(uuid)) keeper.end("cancelled");
    }
  };

  const tidy = async (stopping: AbortSignal) => {
    const busy = await stores.queues.busy();
    const count = kind.queues.some((name) => busy.has(name)) ? ((await kind.endAbandoned?.(clock.now())) ?? 0) : 0;
    if (count > 0) logger.warn(`${kind.title} were broken off.`, { count });
    await kind.tidy?.(stopping, busy);
  };

  const { title } = kind;
  const tidySeconds = () => (isIdle ? settings.idleSeconds : settings.reconcileSeconds);
  const isTidied = kind.tidy !== undefined || kind.endAbandoned !== undefined;
  // A server that was added, or came within reach, may have runs that wait.
  const wake = { signal: wakeSignal, topics: [kind.topic, "server"] } as const;
  const claims = createLoops(logger, [
    { title, work: claimAll, seconds: () => (isIdle ? settings.idleSeconds : settings.pollSeconds), wake },
    ...(isTidied ? [{ title: `${title}: the tidying`, work: tidy, seconds: tidySeconds, wake }] : []),
  ]);
  const renewals = createLoops(logger, [
    // Also woken by notifications, so that a cancel takes effect at once.
    {
      title: `${title}: the renewal of leases`,
      work: renewAll,
      seconds: () => settings.renewSeconds,
      wake: { signal: wakeSignal, topics: [kind.topic] },
    },
  ]);

  return {
    start() {
      claims.start();
      renewals.start();
    },
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      wakeSignal.notify(kind.topic);
    },
    async stop({ graceSeconds }) {
      await claims.stop();
      const left = [...running.values()];
      for (const { keeper } of left) keeper.stop(graceSeconds);
      await within(graceSeconds + settings.abortSecondsMax, Promise.all(left.map(({ ended }) => ended)));
      await renewals.stop();
      // Lost runs belong to another worker.
      const handedOver = left.filter(({ keeper }) => !keeper.isLost).map(({ uuid }) => uuid);
      if (kind.isHandedOver && handedOver.length > 0) await kind.renew(owner, handedOver, 0).catch(() => []);
    },
  };
}

/**
 * Records how a run ended. While the database is unavailable it retries as long as the lease is held, since hours of
 * work must not be lost. A cancelled run ends as cancelled in any case, so that is retried only for a limited time.
 */
export async function recordEnd<T>(keeper: LeaseKeeper, write: () => Promise<T>): Promise<T> {
  for (let triesLeft = TRIES_WHEN_CANCELLED; ; ) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if (keeper.ending === "cancelled") triesLeft -= 1;
      const isOwn = keeper.ending === undefined || keeper.ending === "timeout";
      if (!isOwn && (keeper.ending !== "cancelled" || triesLeft === 0)) throw error;
      await pause(WRITE_AGAIN_SECONDS, keeper.leaving);
    }
  }
}

const WRITE_AGAIN_SECONDS = 0.5;
const TRIES_WHEN_CANCELLED = 20;

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
