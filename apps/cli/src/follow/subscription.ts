import { connectionTrouble } from "../connection/problem.ts";
import { Failure } from "../failure.ts";

/** Callbacks of a subscription. */
export interface Handlers<T> {
  onData(event: { readonly data: T }): void;
  onError(error: unknown): void;
  onComplete(): void;
  onConnectionStateChange(state: { readonly state: string; readonly error?: unknown }): void;
}

export interface SubscriptionOptions<T> {
  readonly subscribe: (handlers: Handlers<T>) => { unsubscribe(): void };
  readonly onEvent: (event: T) => void;
  /** Called with a sentence when the connection is lost, and with `undefined` when it is back. */
  readonly onTrouble: (sentence: string | undefined) => void;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
  /** How long a connection may be lost. */
  readonly patienceSeconds?: number;
}

/** Longer than a restart of the server or of a network. */
const PATIENCE_SECONDS = 120;
/** A connection counts as restored after this time. */
const SETTLED_MILLISECONDS = 3000;

/**
 * Follows a stream of events to its end. The client reconnects after the last received event by itself; this reports
 * it and gives up after the patience.
 *
 * @returns When the stream has ended, or `signal` fired
 * @throws The API's error, or a Failure when the connection stays lost
 */
export function followStream<T>(options: SubscriptionOptions<T>): Promise<void> {
  const { subscribe, onEvent, onTrouble, signal, patienceSeconds = PATIENCE_SECONDS } = options;
  return new Promise((resolve, reject) => {
    let subscription: { unsubscribe(): void } | undefined;
    let patience: NodeJS.Timeout | undefined;
    let settling: NodeJS.Timeout | undefined;
    let isOver = false;

    const over = (end: () => void) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(patience);
      clearTimeout(settling);
      signal.removeEventListener("abort", stop);
      subscription?.unsubscribe();
      end();
    };
    const stop = () => over(resolve);
    const away = (error: unknown) => {
      const reason = connectionTrouble(error);
      // Reported once for each loss, not for each attempt.
      if (!patience) onTrouble(`Connection lost${reason ? ` (${reason})` : ""}, trying again`);
      const lost = new Failure(`The connection was lost for ${patienceSeconds} seconds.`, { cause: error });
      patience ??= setTimeout(() => over(() => reject(lost)), patienceSeconds * 1000);
    };
    const back = () => {
      clearTimeout(settling);
      clearTimeout(patience);
      if (patience) onTrouble(undefined);
      patience = undefined;
    };

    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    subscription = subscribe({
      onData: ({ data }) => {
        if (isOver) return;
        back();
        onEvent(data);
      },
      onComplete: stop,
      onError: (error) => over(() => reject(error)),
      onConnectionStateChange: ({ state, error }) => {
        if (isOver) return;
        clearTimeout(settling);
        if (state === "pending") settling = setTimeout(back, SETTLED_MILLISECONDS);
        else if (error) away(error);
      },
    });
  });
}
