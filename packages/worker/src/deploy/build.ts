import { DomainError } from "@berth/core";
import type { StackArtifact, Step } from "@berth/core/deploy";
import { ENGINES, isOnOwnMachine } from "@berth/core/server";
import { chooseBuildPlace, otherBuildPlace } from "./build-place.ts";
import type { Built, CheckedOut } from "./checkout.ts";
import type { StepContext } from "./context.ts";
import { deliver, discardBuild, pullLostImages } from "./delivery.ts";
import { generateUrls } from "./generated-urls.ts";
import { generateVariables, withGenerated } from "./generated-variables.ts";

/** Turns the source into an artifact that the engine can start. */
export const build: Step<StepContext, CheckedOut, Built> = {
  name: "build",
  // A repeated build of the same deployment starts afresh.
  resumable: true,
  async run(ctx, source) {
    const built = await buildOrReuse(ctx, source);
    // With the end of this step, in which the start begins: the candidate is recorded before any of it runs.
    ctx.saveAtEnd((tx) =>
      tx.releases.saveCandidate(ctx.lease, { artifact: built.artifact, built_by: built.builtBy, upstream: null }),
    );
    return built;
  },
  async undo(ctx) {
    const other = await otherBuildPlace(ctx);
    if (other !== undefined) await discardBuild(ctx, other);
    await ctx.adapters.engine.remove(ctx.ref);
  },
};

async function buildOrReuse(ctx: StepContext, { folder, commit, reused }: CheckedOut): Promise<Built> {
  if (reused !== null) {
    // Fails early, before images are pulled, when required variables are missing.
    ctx.kind.releaseSpec({ ...ctx, deployment: { ...ctx.deployment, commit } }, reused.artifact);
    await pullLostImages(ctx, reused.artifact);
    return reused;
  }
  if (folder === null) throw new DomainError("deploy.build_failed", "The source to build is missing. Deploy again.");
  // An interrupted build may have moved files out of the checkout, so it is fetched again.
  const source = ctx.wasInterrupted ? (await ctx.fetch(commit)).folder : folder;
  const { server } = ctx.adapters;
  const request = {
    ...ctx.kind.buildRequest({ ...ctx, deployment: { ...ctx.deployment, commit } }, source),
    // Push access to a repository must not grant control of Berth's own machine.
    isHostGuarded: isOnOwnMachine(server),
    isForCluster: ENGINES[server.engine].isCluster,
    requireFit: (planned: StackArtifact) => {
      const input = { ...ctx, deployment: { ...ctx.deployment, commit } };
      ctx.adapters.engine.containers?.requireFit?.(ctx.kind.releaseSpec(input, withGenerated(ctx, planned)));
    },
  };
  const place = await chooseBuildPlace(ctx);
  const artifact = await place.engine.build(request, ctx.io);
  if (artifact.type === "folder") ctx.say(`Built: ${artifact.detected}`);
  const delivered = await deliver(ctx, place, artifact, commit);
  await generateUrls(ctx, delivered);
  return { artifact: await generateVariables(ctx, delivered), builtBy: ctx.deployment.uuid };
}
