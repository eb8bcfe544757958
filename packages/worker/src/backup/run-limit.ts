import { isDomainError } from "@berth/core";
import { CANCELLED_BY_USER } from "@berth/core/backup";
import { endingOf, type RunEnding } from "../lease-runner.ts";

/** How long a run may take, and why it ended. */
export interface RunLimit {
  /** Fires when it is to end, for whatever reason. */
  readonly signal: AbortSignal;
  /** It is not this worker's any more: nothing may be written of it. */
  isLost(): boolean;
  isCancelled(): boolean;
  /** For people. */
  reasonOf(failure: unknown): string;
}

export function runLimit(ending: AbortSignal, seconds: number): RunLimit {
  const limit = AbortSignal.timeout(seconds * 1000);
  const isEndedAs = (as: RunEnding) => ending.aborted && endingOf(ending) === as;
  return {
    signal: AbortSignal.any([ending, limit]),
    isLost: () => isEndedAs("lost"),
    isCancelled: () => isEndedAs("cancelled"),
    reasonOf(failure) {
      if (ending.aborted) return ENDINGS[endingOf(ending)];
      if (limit.aborted) return `It took longer than ${seconds} s and was ended.`;
      return isDomainError(failure) ? failure.message : "It failed. Berth's own log has the details.";
    },
  };
}

const ENDINGS: Readonly<Record<RunEnding, string>> = {
  cancelled: CANCELLED_BY_USER,
  gone: "It is being deleted.",
  stopped: "The control plane was stopped while it ran.",
  lost: "The control plane lost it.",
};
