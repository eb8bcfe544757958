import { setTimeout as pause } from "node:timers/promises";
import type { Session } from "../session.ts";

const LOOK_MS = 500;

/**
 * Polls until something has ended. Ctrl-C stops polling only.
 *
 * @param look Returns the final result, or `undefined` to continue.
 * @returns `undefined` after Ctrl-C
 */
export async function pollUntilEnded<T>(
  { system }: Pick<Session, "system">,
  look: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  try {
    while (!interruption.signal.aborted) {
      const end = await look();
      if (end !== undefined) return end;
      await pause(LOOK_MS, undefined, { signal: interruption.signal }).catch(() => undefined);
    }
    return undefined;
  } finally {
    release();
  }
}
