import type { ReleaseSpec } from "@berth/core/deploy";
import { STOP_GRACE_SECONDS } from "../settings.ts";
import { runPreCommand } from "./command.ts";
import type { StepContext } from "./context.ts";
import { changePasswords } from "./database-passwords.ts";

export interface StopResult {
  /** The release to start. */
  readonly spec: ReleaseSpec;
  /** Whether the pre-deployment command already ran, which needs the release that is stopped here. */
  readonly ranPreCommand: boolean;
}

/**
 * Stops the live release where the candidate cannot run beside it. For several containers the engine decides each, by
 * the predecessor in the spec. When the deployment fails, the reconciler starts the stopped ones again.
 */
export async function stopPrevious(ctx: StepContext, spec: ReleaseSpec): Promise<StopResult> {
  const { stores, adapters, deployment, subject, kind, say } = ctx;
  const live = await stores.releases.live(deployment);
  if (live === undefined || live.deployment_id === deployment.id) return { spec, ranPreCommand: false };
  const { resource_uuid: resourceUuid, deployment_uuid: deploymentUuid } = live;
  if (spec.stack !== undefined) {
    await runPreCommand(ctx, async () => live);
    const keeps = deployment.force_rebuild || deployment.restart_only || spec.stack.isRecreated ? "none" : "unchanged";
    const isRestart = kind.isDeployedByRestart && !deployment.keeps_unchanged;
    const replaces = { deploymentUuid, keeps, isRestart } as const;
    return { spec: { ...spec, stack: { ...spec.stack, replaces } }, ranPreCommand: true };
  }
  if (deployment.pull_request_id !== 0) return { spec, ranPreCommand: false };
  const because = kind.exclusiveReason(subject, adapters.engine.capabilities, live.upstream);
  if (because === undefined) return { spec, ranPreCommand: false };
  await runPreCommand(ctx, async () => live);
  await changePasswords(ctx, { resourceUuid, deploymentUuid }, spec);
  say(`Stops the previous release, since ${because}.`);
  const graceSeconds = kind.stopGraceSeconds(subject) ?? STOP_GRACE_SECONDS;
  await adapters.engine.stop({ resourceUuid, deploymentUuid }, { graceSeconds });
  return { spec, ranPreCommand: true };
}
