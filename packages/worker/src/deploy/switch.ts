import { containerStatuses, DomainError, isDomainError, type ReleaseRef, type Step } from "@berth/core";
import { pause, within } from "../wait.ts";
import type { StepContext } from "./context.ts";
import { fenced } from "./fence.ts";
import type { Started } from "./start.ts";

export interface Switched {
  /** Uuid of the deployment that was live before. */
  readonly previous: string | null;
}

/** How far a switch has come. What a user's command does is not known to be safe twice. */
interface Progress {
  readonly preCommand?: "running" | "done";
  readonly postCommand?: "running" | "done";
}

/**
 * Makes the candidate the live release and sends the traffic to it. The record comes first and the proxy follows it:
 * promoting is fenced, so a worker that lost its deployment cannot route, and whatever happens between the two, the
 * reconciler routes to what is recorded. The old release runs until the proxy no longer sends it anything.
 */
export const switchTraffic: Step<StepContext, Started, Switched> = {
  name: "switch",
  resumable: true,
  async run(ctx) {
    const { stores, hold } = ctx;
    let progress: Progress = ctx.saved;
    const keep = async (change: Progress) => {
      progress = { ...progress, ...change };
      await ctx.save({ ...progress });
    };
    if (!hold.isCommitted) {
      await runPreCommand(ctx, progress, keep);
      // A cancel that came while it was healthy still counts; after the promotion none does.
      await hold.refresh();
      hold.signal.throwIfAborted();
    }
    const promoted = await stores.releases.promote(hold.lease);
    fenced(hold, promoted !== undefined);
    hold.commit();
    await route(ctx);
    await takeName(ctx);
    await runPostCommand(ctx, progress, keep);
    await tellHealthy(ctx);
    return { previous: promoted?.previous?.deployment_uuid ?? null };
  },
};

/** Traffic flows whatever its container is called: what fails here is the reconciler's. */
async function takeName({ hands, ref, say }: StepContext): Promise<void> {
  try {
    await hands.engine.takeName?.(ref);
  } catch (error) {
    if (!isDomainError(error)) throw error;
    say(`The container does not have its name yet; that follows. ${error.message}`, "stderr");
  }
}

/** The step before has seen it: whoever waits for the deployment should not read an older status after it. */
async function tellHealthy({ stores, deployment, onHealthy, subject, kind, hands, ref }: StepContext): Promise<void> {
  const { resource_id, pull_request_id } = deployment;
  if (subject.kind === "service") {
    const state = await hands.engine.inspect(ref);
    const recorded = subject.containers.map((one) => ({ name: one.name, isExcluded: one.exclude_from_status }));
    const { status, containers } = containerStatuses(recorded, state, { isStarting: false, isStopped: false });
    return await stores.services.setStatuses(resource_id, status, containers);
  }
  if (kind.healthCheck(subject).probe.type === "steady") {
    const seen = await hands.engine.inspect(ref);
    return await stores.resources.setStatus(
      resource_id,
      `running:${seen?.health === "healthy" ? "healthy" : "unknown"}`,
    );
  }
  onHealthy(deployment.uuid);
  if (pull_request_id === 0) return await stores.resources.setStatus(resource_id, "running:healthy");
  const preview = await stores.previews.find(resource_id, pull_request_id);
  if (preview !== undefined) await stores.previews.setStatus(preview.id, "running:healthy");
}

type Keep = (change: Progress) => Promise<void>;

async function runPreCommand(ctx: StepContext, progress: Progress, keep: Keep): Promise<void> {
  const script = ctx.kind.commands(ctx.subject).pre;
  if (!script || progress.preCommand === "done") return;
  if (progress.preCommand === "running") {
    throw new DomainError(
      "deploy.interrupted",
      "The control plane stopped while the pre-deployment command ran, and whether it took effect is not known. Check, then deploy again.",
    );
  }
  const old = await ctx.stores.releases.live(ctx.deployment.resource_id, ctx.deployment.pull_request_id);
  const ref = old && { resourceUuid: old.resource_uuid, deploymentUuid: old.deployment_uuid };
  const isRunning = ref !== undefined && (await ctx.hands.engine.inspect(ref))?.state === "running";
  if (!isRunning) return ctx.say("Nothing runs yet, so the pre-deployment command is skipped.");
  await keep({ preCommand: "running" });
  ctx.say("Runs the pre-deployment command in the running release");
  const exitCode = await runCommand(ctx, ref, script, ctx.io.signal);
  ctx.io.signal.throwIfAborted();
  if (exitCode !== 0) {
    throw new DomainError("deploy.command_failed", `The pre-deployment command exited with code ${exitCode}.`);
  }
  await keep({ preCommand: "done" });
}

/** Traffic flows already: what goes wrong here is told and changes nothing. */
async function runPostCommand(ctx: StepContext, progress: Progress, keep: Keep): Promise<void> {
  const script = ctx.kind.commands(ctx.subject).post;
  if (!script || progress.postCommand === "done") return;
  if (progress.postCommand === "running") {
    return ctx.say("The control plane stopped while the post-deployment command ran; it is not run again.", "stderr");
  }
  await keep({ postCommand: "running" });
  ctx.say("Runs the post-deployment command in the new release");
  try {
    const exitCode = await runCommand(ctx, ctx.ref, script, ctx.hold.leaving);
    if (exitCode !== 0) ctx.say(`The post-deployment command exited with code ${exitCode}.`, "stderr");
  } catch (error) {
    if (!isDomainError(error)) throw error;
    ctx.say(`The post-deployment command failed: ${error.message}`, "stderr");
  }
  await keep({ postCommand: "done" });
}

async function runCommand(ctx: StepContext, ref: ReleaseRef, script: string, signal: AbortSignal): Promise<number> {
  const timeoutSeconds = ctx.hands.server.settings.dynamic_timeout;
  const { exitCode, output, isTruncated } = await ctx.hands.engine.exec(ref, script, { timeoutSeconds, signal });
  for (const line of output.split("\n")) if (line !== "") ctx.io.onLine(line, "stdout");
  if (isTruncated) ctx.say("The rest of its output is left out.");
  return exitCode;
}

/** Its routes are known to it, but nobody gets to them. */
async function tellStopped({ stores, hands, say }: StepContext): Promise<void> {
  const server = await stores.servers.find(hands.server.id);
  if (server?.is_proxy_stopped) say("The proxy of the server is stopped: URLs do not answer until it is started.");
}

async function route(ctx: StepContext): Promise<void> {
  const endMs = performance.now() + ctx.settings.routeSecondsMax * 1000;
  for (let attempt = 1; ; attempt++) {
    try {
      const told = ctx.hands.router.route(ctx.deployment.resource_id, ctx.deployment.pull_request_id);
      if ((await within(ctx.settings.proxySecondsMax, told)) !== undefined) return await tellStopped(ctx);
      return ctx.say("The proxy does not answer; the route follows as soon as it does.", "stderr");
    } catch (error) {
      if (!isDomainError(error) || ctx.hold.leaving.aborted) throw error;
      if (performance.now() > endMs) {
        return ctx.say(`The proxy does not answer; the route follows as soon as it does. ${error.message}`, "stderr");
      }
      await pause(Math.min(0.1 * 2 ** attempt, 2), ctx.hold.leaving);
    }
  }
}
