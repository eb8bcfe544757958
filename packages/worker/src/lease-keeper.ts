/**
 * Why a run ends before its work is done. `lost`: another worker has it, or may have, and nothing may be written of it.
 * `gone`: its resource is being deleted. `stopped`: the control plane stops.
 */
export type RunEnding = "lost" | "gone" | "cancelled" | "timeout" | "stopped";

/** A worker's lease of one run: knows when the run must end. */
export interface LeaseKeeper {
  /** Fires with the first ending, which `endingOf` reads from it. */
  readonly signal: AbortSignal;
  /** Fires when this worker must stop the run, but not on a cancel: for work that a cancel must not cut short. */
  readonly leaving: AbortSignal;
  readonly ending: RunEnding | undefined;
  /** Nothing may be written or touched any more. */
  readonly isLost: boolean;
  readonly isCommitted: boolean;
  /** The control plane stops: the step under way may end, and no further one begins. */
  readonly isStopping: boolean;
  /** Asks now whether the run is still this worker's, and wanted. */
  refresh(): Promise<void>;
  /** From here on neither a cancel nor the time limit ends the run. */
  commit(): void;
  /** Takes `commit` back: what could not be revoked is undone. */
  retract(): void;
  lose(): void;
  /** Ends the run with `timeout` after this time. */
  limit(seconds: number): void;
}

/** A keeper as its runner has it. */
export interface RunnerLeaseKeeper extends LeaseKeeper {
  /** The lease was renewed until then, by `performance.now()`. */
  extend(untilMs: number): void;
  end(ending: RunEnding): void;
  /** Ends the run with `stopped` after the grace time. */
  stop(graceSeconds: number): void;
  close(): void;
}

/** Reads why a run ended from its signal, or from one that follows it. */
export const endingOf = (signal: AbortSignal): RunEnding | undefined =>
  signal.reason instanceof RunEnded ? signal.reason.ending : undefined;

class RunEnded extends DOMException {
  readonly ending: RunEnding;
  constructor(ending: RunEnding) {
    super("The run was ended.", "AbortError");
    this.ending = ending;
  }
}

export function createLeaseKeeper(untilMs: number, refresh: () => Promise<void>): RunnerLeaseKeeper {
  const [ended, leaving] = [new AbortController(), new AbortController()];
  const endings = new Set<RunEnding>();
  const timers: { expiry?: NodeJS.Timeout; grace?: NodeJS.Timeout; limit?: NodeJS.Timeout } = {};
  let [isCommitted, isStopping, isClosed] = [false, false, false];

  const end = (ending: RunEnding) => {
    if (isClosed) return;
    endings.add(ending);
    if (!isRevocable(ending)) leaving.abort(new RunEnded(ending));
    if (!isRevocable(ending) || !isCommitted) ended.abort(new RunEnded(ending));
  };
  // Without a renewal the work must stop before the lease expires, not when the database answers again.
  const extend = (until: number) => {
    clearTimeout(timers.expiry);
    if (isClosed) return;
    timers.expiry = setTimeout(() => end("lost"), Math.max(until - performance.now(), 0) * LEASE_USE);
  };
  extend(untilMs);

  return {
    signal: ended.signal,
    leaving: leaving.signal,
    get ending() {
      return RANK.find((ending) => endings.has(ending) && !(isCommitted && isRevocable(ending)));
    },
    get isLost() {
      return endings.has("lost");
    },
    get isCommitted() {
      return isCommitted;
    },
    get isStopping() {
      return isStopping;
    },
    refresh,
    commit() {
      isCommitted = true;
    },
    retract() {
      isCommitted = false;
    },
    lose: () => end("lost"),
    limit(seconds) {
      timers.limit ??= setTimeout(() => end("timeout"), Math.min(Math.max(seconds, 0) * 1000, TIMER_MS_MAX)).unref();
    },
    extend,
    end,
    stop(graceSeconds) {
      isStopping = true;
      timers.grace ??= setTimeout(() => end("stopped"), graceSeconds * 1000);
    },
    close() {
      isClosed = true;
      for (const timer of Object.values(timers)) clearTimeout(timer);
    },
  };
}

const isRevocable = (ending: RunEnding): boolean => ending === "cancelled" || ending === "timeout";

/** A cancelled run is undone even while the control plane stops: that takes less time than taking it over. */
const RANK: readonly RunEnding[] = ["lost", "gone", "cancelled", "timeout", "stopped"];
/** Clocks and event loops are late, never early. */
const LEASE_USE = 0.9;
const TIMER_MS_MAX = 2 ** 31 - 1;
