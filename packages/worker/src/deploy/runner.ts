import type { ClaimedDeployment } from "@berth/core/ports";
import { createLeaseRunner, type LeasedRunKind, type LeaseRunner } from "../lease-runner.ts";
import type { WakeSignal } from "../wake-signal.ts";
import { type DeploymentDeps, runDeployment } from "./deployment.ts";

/** Claims and runs deployments. The claim itself enforces the limits of servers and applications. */
export function createDeploymentRunner(deps: DeploymentDeps, wakeSignal: WakeSignal): LeaseRunner {
  const { deployments } = deps.stores;
  let noneAbandonedMs = Number.NEGATIVE_INFINITY;
  /** Looked for by polls, since a lost run announces nothing: not again at each wake-up in between. */
  const claimAbandoned: LeasedRunKind<ClaimedDeployment>["claim"] = async (serverIds, { owner, leaseSeconds }) => {
    const nowMs = performance.now();
    if (nowMs - noneAbandonedMs < deps.settings.pollSeconds * 1000) return undefined;
    const claimed = await deployments.claimAbandoned(owner, leaseSeconds, serverIds);
    if (claimed === undefined) noneAbandonedMs = nowMs;
    return claimed;
  };
  return createLeaseRunner<ClaimedDeployment>(deps, wakeSignal, {
    title: "Deployments",
    queues: ["deployment"],
    topic: "deployment",
    concurrentMax: deps.settings.concurrentDeploymentsMax,
    uuidOf: ({ deployment }) => deployment.uuid,
    claim: async (serverIds, request) =>
      (await claimAbandoned(serverIds, request)) ?? (await deployments.claimNext(request, serverIds)),
    renew: (...asked) => deployments.renew(...asked),
    unrenewed: "lost",
    async run(claim, keeper) {
      await runDeployment(deps, claim, keeper);
    },
    isHandedOver: true,
  });
}
