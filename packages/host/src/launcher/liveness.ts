/** Finds out that a process no longer answers, though it has not ended. */
export interface Liveness {
  /** Idempotent. */
  start(): void;
  /** Call it for everything that the process sends. */
  heard(): void;
  /** Idempotent. */
  stop(): void;
}

interface LivenessOptions {
  readonly intervalSeconds: number;
  /** Asks the process for an answer. */
  ask(): void;
  /** Called when it has sent nothing for several intervals. */
  onSilence(): void;
}

export function liveness({ intervalSeconds, ask, onSilence }: LivenessOptions): Liveness {
  let timer: NodeJS.Timeout | undefined;
  let unanswered = 0;
  return {
    start() {
      if (timer !== undefined) return;
      unanswered = 0;
      timer = setInterval(() => {
        if (unanswered === UNANSWERED_MAX) return onSilence();
        unanswered += 1;
        ask();
      }, intervalSeconds * 1000).unref();
    },
    heard() {
      unanswered = 0;
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

// More than one: where we stand still ourselves, as on a suspended machine, an answer has no time to arrive.
const UNANSWERED_MAX = 3;
