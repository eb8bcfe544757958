import type { StepStatus } from "@berth/core/deploy";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { Claim, DeploymentDeps, DeploymentOutcome } from "./claim.ts";
import { faultOf } from "./error-summary.ts";
import { hasTraffic } from "./traffic.ts";

/**
 * Ends a deployment whose context or log cannot be opened: it would be taken up again for ever, deaf to a cancel. What
 * an earlier attempt made of a candidate is removed by the reconciler, as of every deployment that has ended.
 *
 * @param reason A sentence for people, without secrets.
 * @throws when the database is away: the deployment is left to whoever claims it next.
 */
export async function failUnprepared(
  deps: DeploymentDeps,
  { lease, deployment }: Claim,
  leaseKeeper: LeaseKeeper,
  reason: string,
): Promise<DeploymentOutcome> {
  const { stores, source, logger, clock } = deps;
  // A cancel that has come is obeyed.
  await leaseKeeper.refresh();
  if (leaseKeeper.isLost) return "left";
  const isLive = hasTraffic(await stores.releases.find(deployment.id));
  const isCancelled = leaseKeeper.ending === "cancelled";
  const outcome = isLive ? "finished" : isCancelled ? "cancelled-by-user" : "failed";
  const error = isLive ? null : isCancelled ? "Cancelled by a user." : reason;

  const tidyUp = async () => {
    for (const { name, status } of await stores.deployments.steps(lease.deployment_id)) {
      const left = leftStatus(status, outcome);
      if (left === undefined) continue;
      await stores.deployments.saveStep(lease, name, { status: left, ...(left === "failed" ? { error: reason } : {}) });
    }
    const line = { step: null, type: isLive ? "stdout" : "stderr", hidden: false, timestamp: clock.now() } as const;
    const output = error ?? "Deployment finished.";
    await stores.deployments.appendLog(deployment.id, [{ ...line, output }]);
    await source.removeCheckout(deployment.uuid);
  };
  // It ends, whatever of this succeeds.
  await tidyUp().catch((cause: unknown) =>
    logger.warn("A deployment left traces behind.", { deployment: deployment.uuid, error: faultOf(cause) }),
  );
  return (await stores.deployments.finish(lease, outcome, error)) ? outcome : "left";
}

/** The status of a step that will neither end nor be undone. */
function leftStatus(status: StepStatus, outcome: DeploymentOutcome): StepStatus | undefined {
  if (status === "running") {
    if (outcome === "finished") return "done";
    return outcome === "failed" ? "failed" : "cancelled";
  }
  return status === "pending" && outcome !== "finished" ? "skipped" : undefined;
}
