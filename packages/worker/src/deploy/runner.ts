import { createLeaseRunner, type LeaseRunner } from "../lease-runner.ts";
import type { WakeSignal } from "../wake-signal.ts";
import { type Claim, type DeploymentDeps, runDeployment } from "./deployment.ts";

/** Claims and runs deployments. The claim itself enforces the limits of servers and applications. */
export function createDeploymentRunner(deps: DeploymentDeps, wakeSignal: WakeSignal): LeaseRunner {
  const { deployments } = deps.stores;
  return createLeaseRunner<Claim>(deps, wakeSignal, {
    title: "Deployments",
    queues: ["deployment"],
    concurrentMax: deps.settings.concurrentDeploymentsMax,
    uuidOf: ({ deployment }) => deployment.uuid,
    claim: async (serverIds, request) =>
      (await deployments.claimAbandoned(request.owner, request.leaseSeconds, serverIds)) ??
      (await deployments.claimNext(request, serverIds)),
    renew: (...asked) => deployments.renew(...asked),
    unrenewed: "lost",
    async run(claim, keeper) {
      await runDeployment(deps, claim, keeper);
    },
    isHandedOver: true,
  });
}
