import { DomainError, isDomainError } from "@berth/core";
import { containersNamed } from "@berth/core/compose";
import { commandContainer, type ReleaseContainer, type ReleaseRef } from "@berth/core/deploy";
import type { ReleaseRecord } from "@berth/core/ports";
import type { StepContext } from "./context.ts";

/** Start and end are recorded, since a user's command may not be safe to repeat. */
interface Progress {
  readonly preCommand?: "running" | "done";
  readonly postCommand?: "running" | "done";
}

/**
 * Runs the pre-deployment command in the release to be replaced: before that is stopped, or after the candidate beside
 * it is healthy.
 * @throws DomainError `deploy.command_failed`, `deploy.interrupted`
 */
export async function runPreCommand(ctx: StepContext, live: () => Promise<ReleaseRecord | undefined>): Promise<void> {
  const command = ctx.kind.commands(ctx.subject).pre;
  const { preCommand: earlier }: Progress = ctx.saved;
  if (command === null || earlier === "done") return;
  if (earlier === "running") {
    throw new DomainError(
      "deploy.interrupted",
      "The control plane stopped while the pre-deployment command ran, and whether it took effect is not known. Check, then deploy again.",
    );
  }
  const replaced = await live();
  const ref = replaced && { resourceUuid: replaced.resource_uuid, deploymentUuid: replaced.deployment_uuid };
  const seen = ref && (await ctx.adapters.engine.inspect(ref));
  if (ref === undefined || seen?.state !== "running") {
    return ctx.say("Nothing runs yet, so the pre-deployment command is skipped.");
  }
  const container = commandContainer(command, "pre", seen.containers);
  if (container !== undefined && !runs(seen.containers, container)) {
    return ctx.say(`${container} does not run, so the pre-deployment command is skipped.`);
  }
  await keep(ctx, { preCommand: "running" });
  ctx.say(`Runs the pre-deployment command in ${container ?? "the running release"}`);
  const exitCode = await runCommand(ctx, ref, { ...command, container }, ctx.io.signal);
  ctx.io.signal.throwIfAborted();
  if (exitCode !== 0) {
    throw new DomainError("deploy.command_failed", `The pre-deployment command exited with code ${exitCode}.`);
  }
  await keep(ctx, { preCommand: "done" });
}

/** The release is live already, so a failure is only logged. */
export async function runPostCommand(ctx: StepContext): Promise<void> {
  const command = ctx.kind.commands(ctx.subject).post;
  const { postCommand: earlier }: Progress = ctx.saved;
  if (command === null || earlier === "done") return;
  if (earlier === "running") {
    return ctx.say("The control plane stopped while the post-deployment command ran; it is not run again.", "stderr");
  }
  await keep(ctx, { postCommand: "running" });
  try {
    const seen = await ctx.adapters.engine.inspect(ctx.ref);
    const container = commandContainer(command, "post", seen?.containers);
    ctx.say(`Runs the post-deployment command in ${container ?? "the new release"}`);
    const exitCode = await runCommand(ctx, ctx.ref, { ...command, container }, ctx.leaseKeeper.leaving);
    if (exitCode !== 0) ctx.say(`The post-deployment command exited with code ${exitCode}.`, "stderr");
  } catch (error) {
    if (!isDomainError(error)) throw error;
    ctx.say(`The post-deployment command failed: ${error.message}`, "stderr");
  }
  await keep(ctx, { postCommand: "done" });
}

const runs = (containers: readonly ReleaseContainer[] = [], title: string): boolean =>
  containersNamed(containers, title).some(({ state }) => state === "running");

async function runCommand(
  ctx: StepContext,
  ref: ReleaseRef,
  { script, container }: { readonly script: string; readonly container: string | undefined },
  signal: AbortSignal,
): Promise<number> {
  const timeoutSeconds = ctx.adapters.server.settings.dynamic_timeout;
  const options = { timeoutSeconds, signal, ...(container !== undefined && { container }) };
  const { exitCode, output, isTruncated } = await ctx.adapters.engine.exec(ref, script, options);
  for (const line of output.split("\n")) if (line !== "") ctx.io.onLine(line, "stdout");
  if (isTruncated) ctx.say("The rest of its output is left out.");
  return exitCode;
}

const keep = (ctx: StepContext, progress: Progress): Promise<void> => ctx.save({ ...ctx.saved, ...progress });
