import { DomainError } from "@berth/core";
import { type Artifact, outdatedUrls, type Step } from "@berth/core/deploy";
import { whereItRuns } from "@berth/core/server";
import { lostImages } from "../lost-image.ts";
import type { StepContext } from "./context.ts";

export interface CheckedOut {
  /** `null`: nothing was fetched, because nothing is built. */
  readonly folder: string | null;
  readonly commit: string;
  /** The earlier build that is reused. */
  readonly reused: Built | null;
}

export interface Built {
  readonly artifact: Artifact;
  /** Uuid of the deployment that built it. */
  readonly builtBy: string;
}

/** Fetches the source of the commit, or finds the build that a restart or rollback reuses. */
export const checkout: Step<StepContext, object, CheckedOut> = {
  name: "checkout",
  resumable: true,
  async run(ctx) {
    // Whoever made it without naming a server learns here which one it got.
    if (ctx.isFirst) ctx.say(whereItRuns(ctx.adapters.server));
    requireRunnable(ctx);
    warnOfUnresolvedReferences(ctx);
    warnOfOutdatedUrls(ctx);
    if (ctx.deployment.rollback_to !== null) return await findKept(ctx, ctx.deployment.rollback_to);
    if (ctx.deployment.restart_only) {
      const found = await findBuilt(ctx);
      if (found !== undefined) return found;
      ctx.say("No earlier build exists, so this deployment builds one.");
    }
    const { folder, commit, message } = await ctx.fetch(ctx.deployment.commit);
    ctx.saveAtEnd((tx) => tx.deployments.saveCommit(ctx.lease, commit, message));
    return { folder, commit, reused: null };
  },
  async undo({ source, deployment }) {
    await source.removeCheckout(deployment.uuid);
  },
};

/** Before anything is fetched or built for it. Previews map no ports. */
function requireRunnable({ kind, subject, adapters: { engine, server }, deployment }: StepContext): void {
  const refusal = deployment.pull_request_id === 0 ? kind.refusal(subject, engine.capabilities, server) : undefined;
  if (refusal !== undefined) throw new DomainError("engine.unsupported", refusal);
}

/** Those reach the program as they stand, which hardly anybody means. */
function warnOfUnresolvedReferences({ variables, deployment, say }: StepContext): void {
  const isPreview = deployment.pull_request_id !== 0;
  for (const { key, is_preview, references } of variables.unknown) {
    if (is_preview !== isPreview) continue;
    const what =
      references.length === 1
        ? "no such shared variable, database or property of one exists, so it is not replaced"
        : "no such shared variables, databases or properties of them exist, so they are not replaced";
    say(
      `Warning: The variable ${key} refers to ${references.join(", ")}: ${what}. Create what is missing, or correct ${key}, then deploy again.`,
      "stderr",
    );
  }
}

function warnOfOutdatedUrls({ envs, domains, subject, say }: StepContext): void {
  if (subject.kind !== "service") return;
  for (const { key, current } of outdatedUrls(envs, domains)) {
    say(
      `Warning: The port in the variable ${key} is not the one of the server's proxy. Set ${key} to ${current}, then deploy again.`,
      "stderr",
    );
  }
}

async function findKept({ stores, deployment, say }: StepContext, builtBy: string): Promise<CheckedOut> {
  const kept = await stores.releases.findBuild(deployment, builtBy);
  if (kept === undefined) {
    throw new DomainError(
      "source.not_found",
      "The release to roll back to is no longer kept. Deploy its commit instead.",
    );
  }
  say(`Rolls back to what deployment ${builtBy} built.`);
  return { folder: null, commit: deployment.commit, reused: { artifact: kept.artifact, builtBy } };
}

async function findBuilt(ctx: StepContext): Promise<CheckedOut | undefined> {
  const { stores, lease, deployment, say, saveAtEnd, adapters } = ctx;
  const live = await stores.releases.live(deployment);
  if (live === undefined) return undefined;
  const origin = await stores.deployments.find(live.deployment_id);
  const commit = origin?.commit ?? deployment.commit;
  saveAtEnd((tx) => tx.deployments.saveCommit(lease, commit, origin?.commit_message ?? null));
  const lost = await lostImages(adapters.engine, live.artifact);
  if (lost.some(({ digest }) => !digest)) {
    say(`The build of commit ${commit} is no longer on the server, so this deployment builds that commit again.`);
    const { folder } = await ctx.fetch(commit);
    return { folder, commit, reused: null };
  }
  say(`Starts the build of commit ${commit} again.`);
  return { folder: null, commit, reused: { artifact: live.artifact, builtBy: live.built_by } };
}
