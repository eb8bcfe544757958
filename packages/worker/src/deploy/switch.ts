import { DomainError, isDomainError } from "@berth/core";
import { containerStatuses, type Step } from "@berth/core/deploy";
import { proxyProblem } from "@berth/core/server";
import type { RoutedPart } from "../router.ts";
import { pause, within } from "../wait.ts";
import { runPostCommand, runPreCommand } from "./command.ts";
import type { StepContext } from "./context.ts";
import { recordLogin } from "./database-passwords.ts";
import type { Healthy } from "./health.ts";
import { assertLease } from "./progress.ts";
import type { Started } from "./start.ts";

export interface Switched {
  /** Deployment uuid of the previous live release. */
  readonly previous: string | null;
}

/**
 * Makes the candidate the live release and sends the traffic to it. The record comes first and the proxy follows it:
 * promoting is fenced, so a worker that lost its deployment cannot route, and whatever happens between the two, the
 * reconciler routes to what is recorded. The old release runs until the proxy no longer sends it anything. Where the
 * proxy cannot be told, the record is taken back: a release that nobody reaches replaces none.
 */
export const switchTraffic: Step<StepContext, Started & Healthy, Switched> = {
  name: "switch",
  resumable: true,
  async run(ctx, { ranPreCommand, hasPassedOwnCheck = false }) {
    const { stores, lease, leaseKeeper } = ctx;
    if (!leaseKeeper.isCommitted) {
      if (!ranPreCommand) await runPreCommand(ctx, () => stores.releases.live(ctx.deployment));
      // Last chance for a cancel: after the promotion it has no effect.
      await leaseKeeper.refresh();
      leaseKeeper.signal.throwIfAborted();
    }
    const promoted = await stores.releases.promote(lease);
    assertLease(leaseKeeper, promoted !== undefined);
    leaseKeeper.commit();
    await recordLogin(ctx);
    const problem = await route(ctx);
    if (problem !== undefined) await giveUp(ctx, problem);
    await takeName(ctx);
    await runPostCommand(ctx);
    await recordHealthy(ctx, hasPassedOwnCheck);
    return { previous: promoted?.previous?.deployment_uuid ?? null };
  },
};

/** Traffic does not depend on the container's name: the reconciler retries a failure. */
async function takeName({ adapters, ref, say }: StepContext): Promise<void> {
  try {
    await adapters.engine.takeName(ref);
  } catch (error) {
    if (!isDomainError(error)) throw error;
    say(`The container does not have its final name yet; Berth will retry. ${error.message}`, "stderr");
  }
}

/** Recorded now, so that a client that waited for the deployment does not read an older status. */
async function recordHealthy(
  { deployment, onHealthy, subject, kind, adapters, ref, saveAtEnd }: StepContext,
  hasPassedOwnCheck: boolean,
): Promise<void> {
  const { resource_id, pull_request_id } = deployment;
  const own = kind.containers(subject);
  if (own !== undefined) {
    const state = await adapters.engine.inspect(ref);
    if (hasPassedOwnCheck) onHealthy(deployment.uuid);
    const recorded = own.map((one) => ({ name: one.name, isExcluded: one.exclude_from_status }));
    const seen = containerStatuses(recorded, state, {
      isStarting: false,
      isStopped: false,
      startingHealth: hasPassedOwnCheck ? "healthy" : undefined,
    });
    return saveAtEnd((tx) => tx.services.setStatuses(resource_id, seen));
  }
  if (kind.healthCheck(subject).probe.type === "steady") {
    const seen = await adapters.engine.inspect(ref);
    // Of a container without a check, nothing is known.
    const isChecked = (seen?.containers ?? []).every(({ state, health }) => state !== "running" || health);
    const isHealthy = seen?.health === "healthy" || (seen?.health === "starting" && hasPassedOwnCheck && isChecked);
    if (isHealthy) onHealthy(deployment.uuid);
    return saveAtEnd((tx) => tx.resources.setStatus(deployment, `running:${isHealthy ? "healthy" : "unknown"}`));
  }
  onHealthy(deployment.uuid);
  saveAtEnd(async ({ resources, previews }) => {
    if (pull_request_id === 0) return await resources.setStatus(deployment, "running:healthy");
    const preview = await previews.find(resource_id, pull_request_id);
    if (preview !== undefined) await previews.setStatus(preview.id, "running:healthy");
  });
}

/** Where a proxy is stopped, it reads the routes at its next start: no request reaches them. */
async function warnOfUnanswered({ stores, adapters, domains, say }: StepContext): Promise<void> {
  const server = (await stores.servers.list()).find(({ id }) => id === adapters.server.id);
  const ofServer = server && proxyProblem(server);
  if (ofServer !== undefined && domains.length > 0) return say(`Its URLs do not answer. ${ofServer}`);
  for (const { url } of domains) {
    const problem = adapters.proxy.urlProblem?.(url);
    if (problem !== undefined) say(problem);
  }
}

/** @returns Why the proxy could not be told. */
async function route(ctx: StepContext): Promise<string | undefined> {
  const { adapters, settings, leaseKeeper } = ctx;
  const part = partOf(ctx);
  const endMs = performance.now() + settings.routeSecondsMax * 1000;
  let problem = "It does not answer.";
  for (let attempt = 1; ; attempt++) {
    try {
      const told = adapters.router.route(part);
      // The first one may start a proxy. A further one must not double the time of a proxy that hangs.
      const seconds = attempt === 1 ? settings.proxySecondsMax : Math.max(0, endMs - performance.now()) / 1000;
      if ((await within(seconds, told)) === undefined) return problem;
      await warnOfUnanswered(ctx);
      return undefined;
    } catch (error) {
      if (!isDomainError(error) || leaseKeeper.leaving.aborted) throw error;
      problem = error.message;
      if (performance.now() > endMs) return problem;
      await pause(Math.min(0.1 * 2 ** attempt, 2), leaseKeeper.leaving);
    }
  }
}

const partOf = ({ deployment, subject }: StepContext): RoutedPart => ({
  resourceId: deployment.resource_id,
  pullRequestId: deployment.pull_request_id,
  kind: subject.kind,
});

/** @throws DomainError `deploy.start_failed`, unless no URL leads to the resource. */
async function giveUp(ctx: StepContext, problem: string): Promise<void> {
  const { stores, lease, leaseKeeper, adapters, domains, say } = ctx;
  if (domains.length === 0) {
    return say(`The proxy does not answer; the route follows as soon as it does. ${problem}`, "stderr");
  }
  assertLease(leaseKeeper, await stores.releases.demote(lease));
  leaseKeeper.retract();
  // It may have been told in spite of that. The reconciler tells it again where this fails too.
  await within(ROUTE_BACK_SECONDS_MAX, adapters.router.route(partOf(ctx))).catch(() => undefined);
  throw new DomainError(
    "deploy.start_failed",
    `The proxy of server ${adapters.server.name} cannot lead its URLs to the new release: ${problem}`,
  );
}

const ROUTE_BACK_SECONDS_MAX = 5;
