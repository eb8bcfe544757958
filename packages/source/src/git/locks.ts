import { DomainError } from "@berth/core";

export type KeyedLocks = <Result>(key: string, signal: AbortSignal, work: () => Promise<Result>) => Promise<Result>;

/**
 * Runs work with the same key one after the other, in order, within this process.
 * @throws DomainError `deploy.cancelled` at once when the signal fires during the wait; running work handles its
 * signal.
 */
export function keyedLocks(): KeyedLocks {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, signal, work) => {
    const before = tails.get(key) ?? Promise.resolve();
    const turn = before.then(() => {
      if (signal.aborted) throw cancelled();
      return work();
    });
    const tail = turn.catch(() => {});
    tails.set(key, tail);
    void tail.then(() => tails.get(key) === tail && tails.delete(key));
    await whicheverFirst(before, signal);
    return turn;
  };
}

export const cancelled = (cause?: unknown) => new DomainError("deploy.cancelled", "The work was cancelled.", { cause });

function whicheverFirst(before: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(cancelled());
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void before.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
