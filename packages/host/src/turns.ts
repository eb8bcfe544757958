import { DomainError } from "@berth/core";

/** Limits concurrent work; callers beyond the limit wait in order. */
export interface Turns {
  /** @throws DomainError `deploy.cancelled` on an abort while it waits. */
  take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function turns(max: number): Turns {
  let free = max;
  const waiting: (() => void)[] = [];

  const enter = (signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(cancelled());
      if (free > 0) {
        free--;
        return resolve();
      }
      const onTurn = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        waiting.splice(waiting.indexOf(onTurn), 1);
        reject(cancelled());
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      waiting.push(onTurn);
    });

  const leave = () => {
    const next = waiting.shift();
    if (next === undefined) free++;
    else next();
  };

  return {
    async take(work, signal) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");
