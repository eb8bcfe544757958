/** Points in the fakes where a test can pause work or make it fail. */
export interface Points {
  /** Blocks the next caller at this point until `open`. */
  hold(point: string): HeldPoint;
  /** Makes the next `times` calls fail. */
  fail(point: string, error: Error, times?: number): void;
  /** Called by fakes: waits or fails as the test requested. Rejects with the signal's reason if that fires first. */
  pass(point: string, signal?: AbortSignal): Promise<void>;
  /** Number of calls at the point. */
  count(point: string): number;
}

export interface HeldPoint {
  readonly reached: Promise<void>;
  open(): void;
}

interface Held {
  arrive(): void;
  readonly opened: Promise<void>;
}

export function points(): Points {
  const held = new Map<string, Held[]>();
  const failing = new Map<string, Error[]>();
  const counts = new Map<string, number>();

  return {
    hold(point) {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      held.set(point, [...(held.get(point) ?? []), { arrive: reached.resolve, opened: opened.promise }]);
      return { reached: reached.promise, open: opened.resolve };
    },
    fail(point, error, times = 1) {
      failing.set(point, [...(failing.get(point) ?? []), ...Array.from({ length: times }, () => error)]);
    },
    async pass(point, signal) {
      counts.set(point, (counts.get(point) ?? 0) + 1);
      const error = failing.get(point)?.shift();
      if (error !== undefined) throw error;
      const next = held.get(point)?.shift();
      if (next === undefined) return signal?.throwIfAborted();
      next.arrive();
      await untilEither(next.opened, signal);
    },
    count: (point) => counts.get(point) ?? 0,
  };
}

async function untilEither(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return await work;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
