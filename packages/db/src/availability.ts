import { setTimeout as delay } from "node:timers/promises";

/** Whether the database answers at all. It is asked only while something waits for it. */
export interface Availability {
  /**
   * What `work` resolves with, unless the database turns out not to answer meanwhile.
   *
   * @param giveUp Ends the work then, which is not waited for any longer.
   * @throws Error at once while the database is known not to answer; then `work` is not begun
   */
  during<T>(work: () => Promise<T>, giveUp: (work: Promise<T>) => void): Promise<T>;
  close(): void;
}

interface AvailabilityOptions {
  /** Asks something that takes no time. An error is an answer too: every caller gets it as fast. */
  readonly probe: () => Promise<unknown>;
  readonly times?: typeof TIMES;
}

/**
 * A slow statement, or a burst of requests that waits for connections, does not mean that the database is away. So a long
 * wait only starts a probe: a statement that takes no time, over a connection of its own.
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

  /** Runs while there is something to find out. */
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
      // It may end later, when nobody waits for it any longer.
      running.catch(() => undefined);
      return await Promise.race([running, given.promise]).finally(() => waiting.delete(entry));
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** The words by which the driver's errors of this kind are recognised. */
const NO_ANSWER = "connection timeout: the database does not answer";

/** Together at most five seconds until a caller is told. */
const TIMES = { lookMs: 250, patienceMs: 1500, probeMs: 3000 };

async function answersWithin(probe: () => Promise<unknown>, ms: number): Promise<boolean> {
  const answer = probe().then(
    () => true,
    () => true,
  );
  // A second, short wait: after a pause of this process the answer may be there, and not read yet.
  const patience = delay(ms, undefined, { ref: false }).then(() => delay(20, undefined, { ref: false }));
  return await Promise.race([answer, patience.then(() => false)]);
}
