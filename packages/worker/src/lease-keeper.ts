/**
 * Why a run ends early. `lost`: another worker has or may have the lease, so nothing of the run may be written.
 * `gone`: its resource is being deleted. `stopped`: the control plane stops.
 */
export type RunEnding = "lost" | "gone" | "cancelled" | "timeout" | "stopped";

/** A worker's lease of one run, which knows when the run must end. */
export interface LeaseKeeper {
  /** Fires at the first ending; `endingOf` reads the reason from it. */
  readonly signal: AbortSignal;
  /** Fires when this worker must stop the run, but not on a cancel: for work that a cancel must not interrupt. */
  readonly leaving: AbortSignal;
  readonly ending: RunEnding | undefined;
  /** Whether the run must not write or change anything any more. */
  readonly isLost: boolean;
  readonly isCommitted: boolean;
  /** Whether the control plane stops: the current step may end, and no other begins. */
  readonly isStopping: boolean;
  /** Renews at once, to learn whether the lease is still held and the run not cancelled. */
  refresh(): Promise<void>;
  /** After this call neither a cancel nor the time limit ends the run. */
  commit(): void;
  /** Takes `commit` back: what could not be revoked is undone. */
  retract(): void;
  lose(): void;
  /** Ends the run with `timeout` after this time. */
  limit(seconds: number): void;
}

/** The keeper with methods for its runner. */
export interface RunnerLeaseKeeper extends LeaseKeeper {
  /** Sets the end of the lease, in `performance.now()` time. */
  extend(untilMs: number): void;
  end(ending: RunEnding): void;
  /** Ends the run with `stopped` after the grace time. */
  stop(graceSeconds: number): void;
  close(): void;
}

/** Reads why a run ended from its signal, or from a signal derived from it. */
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
  // The timer ends the run before the lease expires, even if a renewal hangs.
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

/**
 * In order of precedence. A cancelled run is undone even while the control plane stops: that is faster than handing
 * over.
 */
const RANK: readonly RunEnding[] = ["lost", "gone", "cancelled", "timeout", "stopped"];
/** Timers may fire late, so only this share of the lease is used. */
const LEASE_USE = 0.9;
const TIMER_MS_MAX = 2 ** 31 - 1;
