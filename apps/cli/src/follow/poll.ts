import { setTimeout as pause } from "node:timers/promises";
import type { Session } from "../session.ts";

const LOOK_MS = 500;

/**
 * Looks at something again and again until it is over. Ctrl-C ends the looking, not what is looked at.
 *
 * @param look Answers what is shown at the end; `undefined` while it is not over.
 * @returns `undefined` after Ctrl-C
 */
export async function untilOver<T>(
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
