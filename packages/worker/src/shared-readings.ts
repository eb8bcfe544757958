import type { SystemStores, WakeTopic } from "@berth/core/ports";
import type { WakeSignal } from "./wake-signal.ts";

/** How long a reading may be shared. */
export interface SharedSeconds {
  readonly servers: number;
  readonly queues: number;
  /** While no queue holds anything. */
  readonly emptyQueues: number;
}

/**
 * Wraps the stores for loops that poll every few seconds: a recent read is shared by all of them, unless a change was
 * reported since.
 */
export function withSharedReadings(
  stores: SystemStores,
  wakeSignal: Pick<WakeSignal, "count">,
  seconds: SharedSeconds,
): SystemStores {
  const { servers, queues } = stores;
  const list = shared(
    () => servers.list(),
    () => wakeSignal.count(["server"]),
    () => seconds.servers,
  );
  const busy = shared(
    () => queues.busy(),
    () => wakeSignal.count(QUEUES),
    ({ size }) => (size === 0 ? seconds.emptyQueues : seconds.queues),
  );
  return { ...stores, servers: { ...servers, list }, queues: { ...queues, busy } };
}

interface Reading<T> {
  readonly answer: Promise<T>;
  readonly count: number;
  /** While it is read, all callers share it. */
  untilMs: number;
}

function shared<T>(read: () => Promise<T>, countNow: () => number, seconds: (answer: T) => number): () => Promise<T> {
  let last: Reading<T> | undefined;

  return () => {
    const nowMs = performance.now();
    const count = countNow();
    if (last?.count === count && nowMs < last.untilMs) return last.answer;
    const reading: Reading<T> = { answer: read(), count, untilMs: Number.POSITIVE_INFINITY };
    last = reading;
    reading.answer.then(
      (answer) => {
        reading.untilMs = nowMs + seconds(answer) * 1000;
      },
      // A failed read is not shared.
      () => {
        if (last === reading) last = undefined;
      },
    );
    return reading.answer;
  };
}

const QUEUES: readonly WakeTopic[] = ["deployment", "job", "scheduled_task", "backup", "notification"];
