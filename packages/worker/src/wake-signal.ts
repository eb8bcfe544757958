/** Wakes loops that wait. A beat while a loop works is not lost: its next wait ends at once. */
export interface WakeSignal {
  beat(): void;
  /** How many there were. */
  readonly beats: number;
  follow(): WakeWaiter;
}

export interface WakeWaiter {
  /** Resolves with the next beat, after `timeoutSeconds`, or on `signal`. */
  next(timeoutSeconds: number, signal: AbortSignal): Promise<void>;
}

export function wakeSignal(): WakeSignal {
  let beats = 0;
  const waiting = new Set<() => void>();

  return {
    get beats() {
      return beats;
    },
    beat() {
      beats += 1;
      for (const wake of [...waiting]) wake();
    },
    follow() {
      let seen = beats;
      return {
        async next(timeoutSeconds, signal) {
          if (beats === seen && !signal.aborted) {
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
          seen = beats;
        },
      };
    },
  };
}
