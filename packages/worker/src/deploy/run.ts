import { DomainError } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
import { within } from "../wait.ts";
import {
  earlierFailure,
  type Failure,
  failureBefore,
  failureOf,
  handOver,
  interrupted,
  stoppedTooOften,
} from "./failure.ts";
import { isBackFromOutage } from "./outage.ts";
import { type DeployStep, mergeOutput, type Run, saveStep, stepContext } from "./progress.ts";
import { hasTraffic } from "./traffic.ts";
import { unwind } from "./unwind.ts";

export type DeploymentEnd = "finished" | "failed" | "cancelled-by-user";

/**
 * Runs a claimed deployment from where it stands to its end, forward or back. What a step does is saved before it
 * begins and after it ended, so the next worker that claims the deployment continues there.
 *
 * @throws when the deployment is left to whoever claims it next: the lease was lost, the control plane stops, or the
 * database is away. Nothing has been undone then.
 */
export async function runToEnd(run: Run): Promise<DeploymentEnd> {
  const { leaseKeeper, source, deployment, stores } = run.ctx;
  // Once the release is live the deployment succeeds, whatever happened to the worker after that.
  if (hasTraffic(await stores.releases.find(deployment.id))) leaseKeeper.commit();
  await leaseKeeper.refresh();

  const failure = leaseKeeper.isCommitted ? await goForward(run) : (failureAtStart(run) ?? (await goForward(run)));
  if (failure !== undefined) {
    await unwind(run, failure);
    return await end(run, failure.outcome, failure.message);
  }
  await source.removeCheckout(deployment.uuid);
  await skipRetireStep(run);
  return await end(run, "finished", null);
}

function failureAtStart(run: Run): Failure | undefined {
  const earlier = earlierFailure(run);
  if (earlier !== undefined) return earlier;
  const next = run.steps.find(({ name }) => run.rows.get(name)?.status !== "done");
  if (next === undefined) return undefined;
  const { attempt } = run.ctx.lease;
  if (attempt > run.settings.attemptsMax) {
    return interrupted(next.name, stoppedTooOften(attempt));
  }
  if (run.rows.get(next.name)?.status !== "running" || next.resumable) return undefined;
  const message = `The control plane stopped during the step ${next.name}, which cannot be repeated. Deploy again.`;
  return interrupted(next.name, message);
}

async function goForward(run: Run): Promise<Failure | undefined> {
  for (const step of run.steps) {
    const row = run.rows.get(step.name);
    if (row?.status === "done") {
      mergeOutput(run, row.output ?? {});
      continue;
    }
    const failure = await runStep(run, step);
    if (failure !== undefined) return failure;
  }
  return undefined;
}

async function runStep(run: Run, step: DeployStep): Promise<Failure | undefined> {
  const { ctx, log } = run;
  const { name } = step;
  const before = failureBefore(run, name);
  if (before !== undefined) return before;

  const wasInterrupted = run.rows.get(name)?.status === "running";
  // Saved before it begins: from here on its undo runs, whatever happens.
  await saveStep(run, name, { status: "running" });
  log.say(name, `> ${name}`);
  const startedMs = performance.now();
  const lasted = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
  try {
    const gives = await runThroughOutages(run, step, wasInterrupted);
    mergeOutput(run, gives);
    await saveStep(run, name, { status: "done", output: { ...gives } });
    log.say(name, `${name} done in ${lasted()}`);
    return undefined;
  } catch (cause) {
    const failure = failureOf(run, name, cause);
    log.say(name, `${name} ended after ${lasted()}: ${failure.message}`, "stderr");
    if (!ctx.leaseKeeper.isCommitted) return failure;
    // Traffic flows to the new release: the deployment has succeeded, whatever else went wrong.
    await saveStep(run, name, { status: "done" });
    return undefined;
  }
}

async function runThroughOutages(run: Run, step: DeployStep, wasInterrupted: boolean): Promise<object> {
  for (let attempt = 1; ; attempt++) {
    const context = stepContext(run, step.name, wasInterrupted || attempt > 1);
    try {
      return await settled(run, step.run(context, run.state));
    } catch (cause) {
      if (!(await isBackFromOutage(run, step, cause, attempt))) throw cause;
    }
  }
}

/** A step that was told to stop is waited for, since what it makes cannot be undone before; but not for ever. */
async function settled<T>({ ctx: { leaseKeeper }, settings }: Run, work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  const listening = new AbortController();
  const ended = new Promise<undefined>((resolve) => {
    // A cancel that comes after the promotion ends nothing.
    const look = () => leaseKeeper.ending !== undefined && resolve(undefined);
    for (const signal of [leaseKeeper.signal, leaseKeeper.leaving])
      signal.addEventListener("abort", look, { signal: listening.signal });
    look();
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), ended]);
    if (first !== undefined) return first.value;
    if (leaseKeeper.isLost) throw handOver();
    const late = await within(settings.abortSecondsMax, work);
    if (late !== undefined) return late.value;
    throw new DomainError("deploy.interrupted", "The step did not stop when asked to.");
  } finally {
    listening.abort();
  }
}

/** Removing what was replaced is left to whoever holds the server's lease; where nothing was, it is not to come. */
async function skipRetireStep(run: Run): Promise<void> {
  const { stores } = run.ctx;
  // A switch that did not end as it should has not told.
  const previous =
    "previous" in run.state ? run.state.previous : (await stores.releases.promote(run.ctx.lease))?.previous;
  if (!previous) await saveStep(run, "retire", { status: "skipped" });
}

async function end(run: Run, outcome: DeploymentEnd, error: string | null): Promise<DeploymentEnd> {
  const { ctx, log } = run;
  log.say(null, await farewell(run, outcome), outcome === "finished" ? "stdout" : "stderr");
  // The last log line is written before the end is visible.
  await log.close();
  const deployments: SystemStores["deployments"] = ctx.stores.deployments;
  if (await deployments.finish(ctx.lease, outcome, error && log.redact(error))) return outcome;
  ctx.leaseKeeper.lose();
  throw handOver();
}

async function farewell({ ctx }: Run, outcome: DeploymentEnd): Promise<string> {
  const { adapters, domains, stores, deployment } = ctx;
  if (outcome !== "finished") {
    const live = await stores.releases.live(deployment.resource_id, deployment.pull_request_id);
    const sentence = outcome === "failed" ? "Deployment failed." : "Deployment cancelled.";
    return live === undefined ? sentence : `${sentence} The previous release keeps running.`;
  }
  const urls = domains.map(({ url }) => adapters.proxy.publicUrl(url));
  return urls.length === 0 ? "Deployment finished." : `Deployment finished: ${urls.join(", ")}`;
}
