/** Wakes waiting loops. A notification while a loop works is not lost: its next wait ends at once. */
export interface WakeSignal {
  notify(): void;
  /** Number of notifications so far. */
  readonly count: number;
  waiter(): WakeWaiter;
}

export interface WakeWaiter {
  /** Resolves at the next notification, after `timeoutSeconds`, or on `signal`. */
  next(timeoutSeconds: number, signal: AbortSignal): Promise<void>;
}

export function wakeSignal(): WakeSignal {
  let count = 0;
  const waiting = new Set<() => void>();

  return {
    get count() {
      return count;
    },
    notify() {
      count += 1;
      for (const wake of [...waiting]) wake();
    },
    waiter() {
      let seen = count;
      return {
        async next(timeoutSeconds, signal) {
          if (count === seen && !signal.aborted) {
            await new Promise<void>((resolve) => {
              const wake = () => {
                clearTimeout(timer);
                signal.removeEventListener("abort", wake);
                waiting.delete(wake);
                resolve();
              };
              const timer = setTimeout(wake, timeoutSeconds * 1000);
              signal.addEventListener("abort", wake, { once: true });
              waiting.add(wake);
            });
          }
          seen = count;
        },
      };
    },
  };
}
