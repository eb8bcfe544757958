import { setTimeout as delay } from "node:timers/promises";

/** Whether the database responds at all. Probed only while something waits for it. */
export interface Availability {
  /**
   * Resolves like `work`, unless the database turns out to be unavailable first.
   *
   * @param giveUp Ends `work` in that case; its result is ignored.
   * @throws Error at once, without starting `work`, while the database is known to be unavailable
   */
  during<T>(work: () => Promise<T>, giveUp: (work: Promise<T>) => void): Promise<T>;
  close(): void;
}

interface AvailabilityOptions {
  /** Runs a trivial query. Errors count as a response too, since every caller gets them as fast. */
  readonly probe: () => Promise<unknown>;
  readonly times?: typeof TIMES;
}

/**
 * Slow statements, or bursts of requests waiting for connections, do not mean that the database is unavailable. So a
 * long wait only starts a probe: a trivial statement over a connection of its own.
 */
export function availability({ probe, times = TIMES }: AvailabilityOptions): Availability {
  const waiting = new Set<{ readonly sinceMs: number; readonly giveUp: () => void }>();
  let isAway = false;
  let isProbing = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    isProbing = true;
    isAway = !(await answersWithin(probe, times.probeMs));
    isProbing = false;
    if (isAway) for (const { giveUp } of waiting) giveUp();
    watch();
  }

  /** Runs only while something waits or the database is unavailable. */
  function watch(): void {
    if (isClosed || timer !== undefined || (waiting.size === 0 && !isAway)) return;
    timer = setTimeout(() => {
      timer = undefined;
      const [oldest] = waiting;
      const isLong = oldest !== undefined && performance.now() - oldest.sinceMs >= times.patienceMs;
      if (!isProbing && (isAway || isLong)) void ask();
      else watch();
    }, times.lookMs).unref();
  }

  return {
    async during(work, giveUp) {
      if (isAway) throw new Error(NO_ANSWER);
      const given = Promise.withResolvers<never>();
      const entry = { sinceMs: performance.now(), giveUp: () => given.reject(new Error(NO_ANSWER)) };
      const running = work();
      waiting.add(entry);
      watch();
      given.promise.catch(() => giveUp(running));
      // It may still fail later, when nobody waits for it.
      running.catch(() => undefined);
      return await Promise.race([running, given.promise]).finally(() => waiting.delete(entry));
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** The text that the driver's errors of this kind are recognised by. */
const NO_ANSWER = "connection timeout: the database does not answer";

/** In total at most five seconds until a caller gets an error. */
const TIMES = { lookMs: 250, patienceMs: 1500, probeMs: 3000 };

async function answersWithin(probe: () => Promise<unknown>, ms: number): Promise<boolean> {
  const answer = probe().then(
    () => true,
    () => true,
  );
  // Waits a moment longer: if this process was paused, the answer may have arrived but not been read yet.
  const patience = delay(ms, undefined, { ref: false }).then(() => delay(20, undefined, { ref: false }));
  return await Promise.race([answer, patience.then(() => false)]);
}
