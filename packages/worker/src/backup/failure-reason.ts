import { isDomainError } from "@berth/core";
import { CANCELLED_BY_USER } from "@berth/core/backup";
import type { LeaseKeeper, RunEnding } from "../lease-keeper.ts";

/** The reason why a backup or restore failed, as a sentence. */
export function failureReason({ ending }: LeaseKeeper, failure: unknown, secondsMax: number): string {
  if (ending === "timeout") return `It took longer than ${secondsMax} s and was ended.`;
  if (ending !== undefined) return REASONS[ending];
  return isDomainError(failure) ? failure.message : "It failed. Berth's own log has the details.";
}

const REASONS: Readonly<Record<Exclude<RunEnding, "timeout">, string>> = {
  cancelled: CANCELLED_BY_USER,
  gone: "It is being deleted.",
  stopped: "The control plane was stopped while it ran.",
  lost: "The control plane lost its lease.",
};
