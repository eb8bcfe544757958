import { composeNames, type Step, type Upstream } from "@berth/core/deploy";
import { STOP_GRACE_SECONDS } from "../settings.ts";
import { assertOwnedByTeam } from "./belongings.ts";
import type { Built, CheckedOut } from "./checkout.ts";
import type { StepContext } from "./context.ts";
import { assertLease } from "./progress.ts";
import { stopPrevious } from "./stop-previous.ts";
import { forgetMadeVolumes, forgetVolumes, recordVolumes } from "./volume-record.ts";

export interface Started {
  readonly upstream: Upstream | null;
  /** Whether the pre-deployment command already ran in the previous release, before that was stopped. */
  readonly ranPreCommand: boolean;
}

/** Starts the candidate, beside the live release where possible. */
export const start: Step<StepContext, Built & Pick<CheckedOut, "commit">, Started> = {
  name: "start",
  // Starting a running release again returns its address.
  resumable: true,
  async run(ctx, { artifact, builtBy, commit }) {
    const { stores, lease, leaseKeeper, adapters, deployment, kind } = ctx;
    const record = { artifact, built_by: builtBy };
    if (lease.attempt > 1 || ctx.wasInterrupted) {
      // The reconciler may have discarded what an earlier attempt recorded.
      assertLease(leaseKeeper, await stores.releases.saveCandidate(lease, { ...record, upstream: null }));
    }
    const spec = kind.releaseSpec({ ...ctx, deployment: { ...deployment, commit } }, artifact);
    // Checked before any running release is stopped.
    await assertOwnedByTeam({ stores, adapters, teamId: ctx.subject.record.team_id }, spec);
    await adapters.engine.requireName(spec);
    warnOfUnknownContainers(ctx, artifact);
    const { spec: wanted, ranPreCommand } = await stopPrevious(ctx, spec);
    const { upstream } = await adapters.engine.start(wanted, ctx.io);
    await recordVolumes(stores, ctx.subject.record, spec);
    ctx.saveAtEnd((tx) => tx.releases.saveCandidate(lease, { ...record, upstream }));
    return { upstream, ranPreCommand };
  },
  async undo(ctx) {
    const { stores, adapters, ref, deployment, subject, kind, storages } = ctx;
    const graceSeconds = kind.stopGraceSeconds(subject) ?? STOP_GRACE_SECONDS;
    const inTime = { graceSeconds: Math.min(graceSeconds, UNDO_GRACE_SECONDS_MAX), isAtOnce: true };
    await adapters.engine.remove(ref, inTime);
    if (kind.isFirstRun(subject)) await forgetVolumes({ stores, engine: adapters.engine }, subject.record, storages);
    else if (ctx.isCancelled) await forgetMadeVolumes(ctx);
    await stores.releases.delete(deployment.id);
  },
};

/** Only now is it known which URLs and storages name a missing container: the compose file has been read. */
function warnOfUnknownContainers({ domains, storages, say }: StepContext, artifact: Built["artifact"]): void {
  const names = composeNames(artifact);
  if (names === undefined) return;
  for (const { container, is_managed, mount_path } of storages) {
    if (is_managed || (container !== null && names.includes(container))) continue;
    const sentence = `Warning: the storage at ${mount_path} is not mounted, since it names no container of the compose file. Add it to the file.`;
    say(sentence, "stderr");
  }
  for (const { container, url } of domains) {
    if (!container || names.includes(container)) continue;
    say(`Warning: ${url} has no target: the compose file has no service ${container}.`, "stderr");
  }
}

/** A candidate has no requests to finish, and a cancelled deployment must end within 5 seconds. */
const UNDO_GRACE_SECONDS_MAX = 2;
