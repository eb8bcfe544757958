import { buildRequest, DomainError, type Step } from "@berth/core";
import type { Built, CheckedOut } from "./checkout.ts";
import type { StepContext } from "./context.ts";

/** Turns the source into what the engine can run. */
export const build: Step<StepContext, CheckedOut, Built> = {
  name: "build",
  // The engine builds the same deployment afresh when it is asked again.
  resumable: true,
  async run(ctx, { folder, commit, reused }) {
    if (reused !== null) return reused;
    if (folder === null) throw new DomainError("deploy.build_failed", "There is no source to build. Deploy again.");
    // An engine may have moved files out of the checkout before it was interrupted.
    const source = ctx.wasInterrupted ? (await ctx.fetch(commit)).folder : folder;
    const request = buildRequest({ ...ctx, deployment: { ...ctx.deployment, commit } }, source);
    if (ctx.application.settings.use_build_server) {
      ctx.say("Builds on the application's own server: building on another one is not supported yet.", "stderr");
    }
    const artifact = await ctx.hands.engine.build(request, ctx.io);
    if (artifact.type === "folder") ctx.say(`Built: ${artifact.detected}`);
    return { artifact, builtBy: ctx.deployment.uuid };
  },
  async undo({ hands, ref }) {
    await hands.engine.remove(ref);
  },
};
