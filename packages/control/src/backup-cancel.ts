import { DomainError, notFound } from "@berth/core";
import { type BackupRunCancelled, backupStates } from "@berth/core/backup";
import type { BackupExecutionRecord, RestoreRecord } from "@berth/core/ports";

/** Cancelled work ends within five seconds; the answer waits a little longer. */
const CANCEL_WAIT_SECONDS = 8;

type RunState = Pick<BackupExecutionRecord | RestoreRecord, "uuid" | "status" | "message">;

/** A backup, restore or drill that may be cancelled. */
export interface CancellableRun {
  /** Name for people. */
  readonly title: "Backup execution" | "Restore" | "Drill";
  find(): Promise<RunState | undefined>;
  requestCancel(): Promise<RunState | undefined>;
  untilEnded(secondsMax: number): Promise<RunState | undefined>;
}

/**
 * Returns when the work has ended, so that the status is final.
 * @throws DomainError `backup.not_cancellable`
 */
export async function cancelBackupRun(run: CancellableRun): Promise<BackupRunCancelled> {
  const before = known(run, await run.find());
  if (backupStates.isTerminal(before.status)) throw notCancellable(run, before);
  known(run, await run.requestCancel());
  const { uuid, status, message: detail } = known(run, await run.untilEnded(CANCEL_WAIT_SECONDS));
  if (status === "cancelled-by-user") return { message: `${run.title} cancelled successfully.`, uuid, status, detail };
  // It ended before it noticed the request.
  if (backupStates.isTerminal(status)) throw notCancellable(run, { status });
  return { message: `${run.title} cancellation requested.`, uuid, status, detail };
}

function known({ title }: CancellableRun, run: RunState | undefined): RunState {
  if (run === undefined) throw notFound(title);
  return run;
}

const notCancellable = ({ title }: CancellableRun, { status }: Pick<RunState, "status">) =>
  new DomainError("backup.not_cancellable", `${title} cannot be cancelled. Current status: ${status}`);
