import { isDatabaseUnavailable } from "@berth/core";
import type { WakeTopic } from "@berth/core/ports";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { Logger } from "./ports.ts";
import { pause, within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Work that is repeated at intervals. */
export interface RepeatedWork {
  /** Subject of the log message "... failed". */
  readonly title: string;
  work(signal: AbortSignal): Promise<void>;
  /** Pause between the end of one round and the beginning of the next. */
  seconds(): number;
  /** Ends the pause early, when one of the topics is notified. */
  readonly wake?: { readonly signal: WakeSignal; readonly topics: readonly WakeTopic[] } | undefined;
  /** How long a woken round waits for further changes, to handle them together. */
  readonly gatherSeconds?: () => number;
}

export interface Loops {
  /** Fires when no further round will begin. */
  readonly signal: AbortSignal;
  start(): void;
  /** Resolves when running rounds have ended, at the latest after 5 seconds. */
  stop(): Promise<void>;
}

/** Repeats each work independently, so that a slow one delays no other. Failed rounds are retried with backoff. */
export function createLoops(logger: Logger, works: readonly RepeatedWork[]): Loops {
  const stopping = new AbortController();
  const { signal } = stopping;
  const warnings = dedupedWarnings(logger);
  let running: readonly Promise<void>[] = [];

  const attempt = async ({ title, work }: RepeatedWork): Promise<boolean> => {
    try {
      await work(signal);
      warnings.over(title, `${title} no longer failed.`, {});
      return true;
    } catch (error) {
      const message = `${title} failed and will be tried again.`;
      // The database reports its own outage, once for all loops.
      if (isDatabaseUnavailable(error)) logger.debug(message, { error });
      else warnings.failed(title, message, { error });
      return false;
    }
  };

  const repeat = async (repeated: RepeatedWork) => {
    const { seconds, wake, gatherSeconds = () => 0 } = repeated;
    const waiter = wake?.signal.waiter(wake.topics);
    let failures = 0;
    while (!signal.aborted) {
      failures = (await attempt(repeated)) ? 0 : failures + 1;
      if (failures > 0) {
        await pause(Math.min(2 ** (failures - 1), RETRY_SECONDS_MAX, Math.max(seconds(), RETRY_SECONDS_MIN)), signal);
        continue;
      }
      const gathering = gatherSeconds();
      if (gathering > 0) await pause(gathering, signal);
      await (waiter === undefined ? pause(seconds(), signal) : waiter.next(seconds(), signal));
    }
  };

  return {
    signal,
    start() {
      running = works.map(repeat);
    },
    async stop() {
      stopping.abort();
      await within(STOP_SECONDS_MAX, Promise.all(running));
    },
  };
}

const RETRY_SECONDS_MIN = 0.2;
const RETRY_SECONDS_MAX = 5;
const STOP_SECONDS_MAX = 5;
