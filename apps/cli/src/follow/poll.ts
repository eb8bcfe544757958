import { setTimeout as pause } from "node:timers/promises";
import type { Session } from "../session.ts";
import { type WaitingLine, waitingLine } from "./waiting.ts";

const LOOK_MS = 500;

/**
 * Polls until something has ended. Ctrl-C stops polling only.
 *
 * @param look Returns the final result, or `undefined` to continue. It clears the waiting line before it prints.
 * @param waitsFor What is shown meanwhile; nothing by default, for what prints its own progress.
 * @returns `undefined` after Ctrl-C
 */
export async function pollUntilEnded<T>(
  session: Pick<Session, "system" | "output">,
  look: (waiting: WaitingLine | undefined) => Promise<T | undefined>,
  waitsFor?: string,
): Promise<T | undefined> {
  const { system } = session;
  const waiting = waitsFor === undefined ? undefined : waitingLine(session, waitsFor);
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  try {
    while (!interruption.signal.aborted) {
      const end = await look(waiting);
      if (end !== undefined) return end;
      waiting?.tick();
      await pause(LOOK_MS, undefined, { signal: interruption.signal }).catch(() => undefined);
    }
    return undefined;
  } finally {
    waiting?.clear();
    release();
  }
}
