import type { ReleaseSpec } from "@berth/core";
import { STOP_GRACE_SECONDS } from "../settings.ts";
import type { StepContext } from "./context.ts";

/**
 * Makes room for a candidate: stops the live release where the candidate cannot run beside it. Of several containers
 * the engine decides for each, by what the candidate is told to replace. When the deployment fails, the reconciler
 * starts again what was stopped.
 * @returns What is to be started.
 */
export async function giveWay(ctx: StepContext, spec: ReleaseSpec): Promise<ReleaseSpec> {
  const { hands, stores, deployment, subject, kind, say } = ctx;
  const live = await stores.releases.live(deployment.resource_id, deployment.pull_request_id);
  if (live === undefined || live.deployment_id === deployment.id) return spec;
  const { resource_uuid: resourceUuid, deployment_uuid: deploymentUuid } = live;
  if (spec.stack !== undefined) {
    const keeps = deployment.force_rebuild || deployment.restart_only || spec.stack.isRecreated ? "none" : "unchanged";
    // A service is deployed by restarting it.
    const replaces = { deploymentUuid, keeps, isRestart: subject.kind === "service" } as const;
    return { ...spec, stack: { ...spec.stack, replaces } };
  }
  const because = deployment.pull_request_id === 0 ? kind.aloneBecause(subject, hands.engine.capabilities) : undefined;
  if (because === undefined) return spec;
  say(`Stops the release before it, since ${because}.`);
  const graceSeconds = kind.stopGraceSeconds(subject) ?? STOP_GRACE_SECONDS;
  await hands.engine.stop({ resourceUuid, deploymentUuid }, { graceSeconds });
  return spec;
}
