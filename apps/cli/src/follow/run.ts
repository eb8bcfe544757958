import { setTimeout as pause } from "node:timers/promises";
import type { Session } from "../session.ts";
import { followStream, type SubscriptionOptions } from "./subscription.ts";
import { waitingLine } from "./waiting.ts";

const TICK_MS = 500;
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 5000;

/** Before following again after so many streams that ended too early: a gateway may end each at once. */
export const pauseMs = (ended: number): number => Math.min(PAUSE_MS * ended, PAUSE_MS_MAX);

/** A run that changes until it has ended: a job, backup, restore or drill. */
export interface FollowedRun<Run> {
  readonly subscribe: (
    handlers: Omit<Parameters<SubscriptionOptions<Run>["subscribe"]>[0], "onData"> & { onData(run: Run): void },
  ) => { unsubscribe(): void };
  readonly isOver: (run: Run) => boolean;
  /** Prints what is new. */
  readonly show: (run: Run) => void;
  /** What is shown meanwhile; nothing by default, for what prints its own progress. */
  readonly waitsFor?: string;
}

/**
 * Shows a run until it has ended. Ctrl-C only stops following.
 *
 * @returns Its last state; `undefined` after Ctrl-C
 */
export async function followRun<Run>(
  session: Pick<Session, "system" | "output">,
  { subscribe, isOver, show, waitsFor }: FollowedRun<Run>,
): Promise<Run | undefined> {
  const { system, output } = session;
  const waiting = waitsFor === undefined ? undefined : waitingLine(session, waitsFor);
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  const ticking = setInterval(() => waiting?.tick(), TICK_MS);
  try {
    for (let ended = 1; !interruption.signal.aborted; ended += 1) {
      let last: Run | undefined;
      await followStream<Run>({
        subscribe: (handlers) => subscribe({ ...handlers, onData: (data) => handlers.onData({ data }) }),
        onEvent(run) {
          last = run;
          waiting?.clear();
          show(run);
        },
        onTrouble(sentence) {
          waiting?.clear();
          if (sentence !== undefined) output.warn(sentence);
        },
        signal: interruption.signal,
      });
      // Else the server ended the stream, and says at the next one why.
      if (last !== undefined && isOver(last)) return last;
      await pause(pauseMs(ended), undefined, { signal: interruption.signal }).catch(() => undefined);
    }
    return undefined;
  } finally {
    clearInterval(ticking);
    waiting?.clear();
    release();
  }
}
