import { STOP_GRACE_SECONDS } from "../settings.ts";
import type { StepContext } from "./context.ts";

/** Stops the live release where the candidate cannot run beside it. When the deployment fails, the reconciler starts it again. */
export async function giveWay(ctx: StepContext): Promise<void> {
  const { hands, stores, deployment, subject, kind, say } = ctx;
  const because = deployment.pull_request_id === 0 ? kind.aloneBecause(subject, hands.engine.capabilities) : undefined;
  if (because === undefined) return;
  const live = await stores.releases.live(deployment.resource_id, deployment.pull_request_id);
  if (live === undefined || live.deployment_id === deployment.id) return;
  say(`Stops the release before it, since ${because}.`);
  const ref = { resourceUuid: live.resource_uuid, deploymentUuid: live.deployment_uuid };
  await hands.engine.stop(ref, { graceSeconds: kind.stopGraceSeconds(subject) ?? STOP_GRACE_SECONDS });
}
