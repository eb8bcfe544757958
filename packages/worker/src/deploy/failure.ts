import { DomainError, type ErrorCode, isDatabaseUnavailable, isDomainError } from "@berth/core";
import type { StepName } from "@berth/core/deploy";
import { fullDiskMessage } from "./disk-full.ts";
import { errorSummary } from "./error-summary.ts";
import type { DeploymentRun } from "./progress.ts";

/** The reason why a deployment is undone. */
export interface Failure {
  readonly outcome: "failed" | "cancelled-by-user";
  /** The step that failed, or before which the deployment ended. */
  readonly step: StepName;
  /** One sentence for users. */
  readonly message: string;
  readonly code?: ErrorCode;
}

/** The reason why a step must not begin. @throws DomainError when the next worker that claims it shall continue. */
export function failureBefore(run: DeploymentRun, step: StepName): Failure | undefined {
  const { leaseKeeper } = run.ctx;
  if (leaseKeeper.ending === "cancelled") return cancelled(step);
  if (leaseKeeper.ending === "timeout") return timedOut(run, step);
  if (!mayBegin(run)) throw handOver();
  return undefined;
}

/** Whether nothing ends the deployment before its next step. */
export const mayBegin = ({ ctx: { leaseKeeper } }: DeploymentRun): boolean =>
  leaseKeeper.ending === undefined && (!leaseKeeper.isStopping || leaseKeeper.isCommitted);

/** The failure to record for a step that threw. @throws when the next worker shall resume the deployment. */
export async function failureOf(run: DeploymentRun, step: StepName, cause: unknown): Promise<Failure> {
  const { leaseKeeper } = run.ctx;
  switch (leaseKeeper.ending) {
    case "lost":
    case "gone":
    case "stopped":
      throw cause;
    case "cancelled":
      return cancelled(step);
    case "timeout":
      return timedOut(run, step);
    case undefined:
      break;
  }
  // Stopping the control plane may have ended the step's processes too. A real failure repeats after the next start.
  if (leaseKeeper.isStopping && !leaseKeeper.isCommitted) throw cause;
  // The failure cannot be recorded; the deployment is claimed again when the database is back.
  if (isDatabaseUnavailable(cause)) throw cause;
  const fullDisk = await fullDiskMessage(cause, step, run.ctx.disk);
  if (fullDisk !== undefined) return { outcome: "failed", step, message: fullDisk, code: "storage.full" };
  if (isDomainError(cause)) return { outcome: "failed", step, message: cause.message, code: cause.code };
  const details = { deployment: run.ctx.deployment.uuid, step, error: errorSummary(cause, run.log.redact) };
  run.logger.error("A step of a deployment failed unexpectedly.", details);
  const message = `The step ${step} failed because of an internal error; Berth's own log has the details.`;
  return { outcome: "failed", step, message, code: "internal.error" };
}

/** The failure that an earlier worker had begun to undo. */
export function earlierFailure({ steps, rows }: DeploymentRun): Failure | undefined {
  for (const { name } of steps) {
    const row = rows.get(name);
    if (row?.status === "cancelled") return cancelled(name);
    if (row?.status === "failed") return { outcome: "failed", step: name, message: row.error ?? "It was interrupted." };
  }
  return undefined;
}

export const interrupted = (step: StepName, message: string): Failure => ({
  outcome: "failed",
  step,
  message,
  code: "deploy.interrupted",
});

export const stoppedTooOften = (attempt: number): string =>
  `The control plane stopped ${attempt - 1} times during this deployment. Deploy again.`;

export const handOver = () => new DomainError("deploy.interrupted", "The deployment continues after the next start.");

const cancelled = (step: StepName): Failure => ({
  outcome: "cancelled-by-user",
  step,
  message: "Cancelled by a user.",
});

function timedOut({ ctx }: DeploymentRun, step: StepName): Failure {
  const seconds = ctx.adapters.server.settings.dynamic_timeout;
  const message = `The deployment took longer than the ${seconds} seconds that its server allows.`;
  return { outcome: "failed", step, message, code: "deploy.timeout" };
}
