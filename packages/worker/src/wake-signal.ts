import type { WakeTopic } from "@berth/core/ports";

/** Wakes waiting loops. A notification while a loop works is not lost: its next wait ends at once. */
export interface WakeSignal {
  notify(...topics: readonly WakeTopic[]): void;
  /** Number of notifications of these topics so far. */
  count(topics: readonly WakeTopic[]): number;
  waiter(topics: readonly WakeTopic[]): WakeWaiter;
}

export interface WakeWaiter {
  /** Resolves at the next notification, after `timeoutSeconds`, or on `signal`. */
  next(timeoutSeconds: number, signal: AbortSignal): Promise<void>;
}

export function wakeSignal(): WakeSignal {
  const counts = new Map<WakeTopic, number>();
  const waiting = new Map<() => void, readonly WakeTopic[]>();
  const count = (topics: readonly WakeTopic[]) => topics.reduce((sum, topic) => sum + (counts.get(topic) ?? 0), 0);

  return {
    count,
    notify(...topics) {
      for (const topic of topics) counts.set(topic, count([topic]) + 1);
      for (const [wake, awaited] of [...waiting]) if (topics.some((topic) => awaited.includes(topic))) wake();
    },
    waiter(topics) {
      let seen = count(topics);
      return {
        async next(timeoutSeconds, signal) {
          if (count(topics) === seen && !signal.aborted) {
            await new Promise<void>((resolve) => {
              const wake = () => {
                clearTimeout(timer);
                signal.removeEventListener("abort", wake);
                waiting.delete(wake);
                resolve();
              };
              const timer = setTimeout(wake, timeoutSeconds * 1000);
              signal.addEventListener("abort", wake, { once: true });
              waiting.set(wake, topics);
            });
          }
          seen = count(topics);
        },
      };
    },
  };
}
