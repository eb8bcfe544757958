import type { SystemStores, WakeTopic } from "@berth/core/ports";
import type { WakeSignal } from "./wake-signal.ts";

/**
 * Wraps the stores for loops that poll every few seconds: a recent read is shared by all of them, unless a change was
 * reported since.
 */
export function withSharedReadings(
  stores: SystemStores,
  wakeSignal: Pick<WakeSignal, "count">,
  keptSeconds: { readonly servers: number; readonly queues: number },
): SystemStores {
  const { servers, queues } = stores;
  return {
    ...stores,
    servers: {
      ...servers,
      list: shared(
        () => servers.list(),
        () => wakeSignal.count(["server"]),
        keptSeconds.servers,
      ),
    },
    queues: {
      ...queues,
      busy: shared(
        () => queues.busy(),
        () => wakeSignal.count(QUEUES),
        keptSeconds.queues,
      ),
    },
  };
}

function shared<T>(read: () => Promise<T>, countNow: () => number, keptSeconds: number): () => Promise<T> {
  let last: { readonly answer: Promise<T>; readonly count: number; readonly atMs: number } | undefined;

  return () => {
    const nowMs = performance.now();
    const count = countNow();
    if (last?.count === count && nowMs - last.atMs < keptSeconds * 1000) return last.answer;
    const reading = { answer: read(), count, atMs: nowMs };
    last = reading;
    // A failed read is not shared.
    reading.answer.catch(() => {
      if (last === reading) last = undefined;
    });
    return reading.answer;
  };
}

const QUEUES: readonly WakeTopic[] = ["deployment", "job", "scheduled_task", "backup"];
