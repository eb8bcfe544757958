import { DomainError, isDatabaseUnavailable, isServerAway } from "@berth/core";
import type { StepName } from "@berth/core/deploy";
import type { ServerMachine } from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";
import { pause, within } from "../wait.ts";
import type { StepWrite } from "./context.ts";
import {
  earlierFailure,
  type Failure,
  failureBefore,
  failureOf,
  handOver,
  interrupted,
  mayBegin,
  stoppedTooOften,
} from "./failure.ts";
import type { DeploymentLog, LogLines } from "./log.ts";
import {
  type DeploymentRun,
  type DeployStep,
  hasTraffic,
  mergeOutput,
  type StepEnd,
  saveStep,
  stepContext,
} from "./progress.ts";

export type DeploymentEnd = "finished" | "failed" | "cancelled-by-user";

/**
 * Runs a claimed deployment from its current step to its end, forward or undoing. Each step is saved before it begins
 * and after it ends, so that the next worker that claims the deployment continues there.
 *
 * @throws when the next worker that claims it shall continue: the lease was lost, the control plane stops, or the
 * database is unavailable. Nothing has been undone then.
 */
export async function runToEnd(run: DeploymentRun): Promise<DeploymentEnd> {
  const { leaseKeeper, source, deployment, stores } = run.ctx;
  // Once the release is live the deployment succeeds, whatever happened to the worker since.
  const isResumed = run.ctx.lease.attempt > 1;
  if (isResumed && hasTraffic(await stores.releases.find(deployment.id))) leaseKeeper.commit();
  await leaseKeeper.refresh();

  const failure = leaseKeeper.isCommitted ? await goForward(run) : (failureAtStart(run) ?? (await goForward(run)));
  if (failure !== undefined) {
    await unwind(run, failure);
    return await end(run, failure.outcome, failure.message);
  }
  await source.removeCheckout(deployment.uuid);
  return await end(run, "finished", null);
}

function failureAtStart(run: DeploymentRun): Failure | undefined {
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

async function goForward(run: DeploymentRun): Promise<Failure | undefined> {
  let begun: StepName | undefined;
  for (const [index, step] of run.steps.entries()) {
    const row = run.rows.get(step.name);
    if (row?.status === "done") {
      mergeOutput(run, row.output ?? {});
      continue;
    }
    const wasInterrupted = row?.status === "running" && begun !== step.name;
    if (begun !== step.name) {
      const failure = await begin(run, step);
      if (failure !== undefined) return failure;
    }
    const next = run.steps[index + 1];
    const failure = await runStep(run, step, wasInterrupted, next);
    if (failure !== undefined) return failure;
    begun = next !== undefined && run.rows.get(next.name)?.status === "running" ? next.name : undefined;
  }
  return undefined;
}

/** Saved before it begins: from now on a failure runs its undo. */
async function begin(run: DeploymentRun, { name }: DeployStep): Promise<Failure | undefined> {
  const failure = failureBefore(run, name);
  if (failure !== undefined) return failure;
  run.log.say(name, `> ${name}`);
  await saveStep(run, name, { status: "running" });
  return undefined;
}

async function runStep(
  run: DeploymentRun,
  step: DeployStep,
  wasInterrupted: boolean,
  next: DeployStep | undefined,
): Promise<Failure | undefined> {
  const { ctx, log } = run;
  const { name } = step;
  const startedMs = performance.now();
  const lasted = () => `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
  try {
    const { gives, writes } = await runThroughOutages(run, step, wasInterrupted);
    mergeOutput(run, gives);
    log.say(name, `${name} done in ${lasted()}`);
    await saveEnd(run, next, { name, change: { status: "done", output: { ...gives } }, writes });
    return undefined;
  } catch (cause) {
    const failure = await failureOf(run, name, cause);
    log.say(name, `${name} ended after ${lasted()}: ${failure.message}`, "stderr");
    if (!ctx.leaseKeeper.isCommitted) return failure;
    // The new release is live: the deployment succeeds even if the rest of the switch failed.
    await saveEnd(run, next, { name, change: { status: "done" }, writes: [] });
    return undefined;
  }
}

/** @param next Begins in the transaction that ends this step, unless it could not be repeated after a crash. */
async function saveEnd(run: DeploymentRun, next: DeployStep | undefined, ended: StepEnd): Promise<void> {
  if (next === undefined) {
    run.last = ended;
    return;
  }
  const begins = next.resumable && mayBegin(run) ? next.name : undefined;
  if (begins !== undefined) run.log.say(begins, `> ${begins}`);
  await saveStep(run, ended.name, ended.change, { begins, writes: ended.writes });
}

async function runThroughOutages(
  run: DeploymentRun,
  step: DeployStep,
  wasInterrupted: boolean,
): Promise<{ readonly gives: object; readonly writes: readonly StepWrite[] }> {
  for (let attempt = 1; ; attempt++) {
    const writes: StepWrite[] = [];
    const context = stepContext(run, step.name, { wasInterrupted: wasInterrupted || attempt > 1, writes });
    try {
      return { gives: await settled(run, step.run(context, run.state)), writes };
    } catch (cause) {
      if (!(await isBackFromOutage(run, step, cause, attempt))) throw cause;
    }
  }
}

/** Waits for an aborted step, since its results cannot be undone before it ends; but only for a limited time. */
async function settled<T>({ ctx: { leaseKeeper }, settings }: DeploymentRun, work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  const listening = new AbortController();
  const ended = new Promise<undefined>((resolve) => {
    // After the promotion a cancel has no effect.
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

interface Interrupted {
  readonly ctx: {
    readonly leaseKeeper: Pick<LeaseKeeper, "signal" | "leaving">;
    readonly adapters: Pick<ServerAdapters, "machine">;
  };
  readonly log: Pick<DeploymentLog, "say">;
  readonly settings: Pick<WorkerSettings, "outageSecondsMax">;
}

/**
 * Whether to repeat a step that lost its server: it must be resumable, and the server must answer again. So an outage
 * of some seconds does not fail a deployment.
 */
export async function isBackFromOutage(
  { ctx, log, settings }: Interrupted,
  step: Pick<DeployStep, "name" | "resumable">,
  cause: unknown,
  attempt: number,
): Promise<boolean> {
  const { leaseKeeper, adapters } = ctx;
  const isRepeatable = step.resumable && attempt < ATTEMPTS_MAX && adapters.machine !== undefined;
  if (!isRepeatable || !isServerAway(cause)) return false;
  log.say(step.name, `${cause.message} Waits until it is back.`, "stderr");
  const wanted = AbortSignal.any([leaseKeeper.signal, leaseKeeper.leaving]);
  const endMs = performance.now() + settings.outageSecondsMax * 1000;
  while (!wanted.aborted && performance.now() < endMs) {
    await pause(ASK_SECONDS, wanted);
    if (await answers(adapters.machine, wanted)) return !wanted.aborted;
  }
  return false;
}

async function answers(machine: ServerMachine, wanted: AbortSignal): Promise<boolean> {
  const signal = AbortSignal.any([wanted, AbortSignal.timeout(ANSWER_SECONDS * 1000)]);
  const asked = machine.ping(signal).then(
    () => true,
    () => false,
  );
  return (await within(ANSWER_SECONDS, asked))?.value ?? false;
}

/** A step with many calls may lose several connections. More failures than this have another cause. */
const ATTEMPTS_MAX = 20;
const ASK_SECONDS = 0.5;
const ANSWER_SECONDS = 5;

/**
 * Undoes the steps of a deployment, the last one first. Every undo may run twice: if this worker stops, the next one
 * begins again.
 */
async function unwind(run: DeploymentRun, failure: Failure): Promise<void> {
  const status = failure.outcome === "failed" ? "failed" : "cancelled";
  const { message: error, code: error_code } = failure;
  if (run.rows.get(failure.step)?.status !== status) await saveStep(run, failure.step, { status, error, error_code });

  for (const step of [...run.steps].reverse()) {
    const before = run.rows.get(step.name)?.status ?? "pending";
    if (before === "pending" || before === "skipped") continue;
    if (run.ctx.leaseKeeper.isLost) throw handOver();
    await undo(run, step);
    if (before === "done") await saveStep(run, step.name, { status: "undone" });
  }

  const begun = [...run.rows].filter(([, { status }]) => status !== "pending").map(([name]) => name);
  const notBegun = [...run.steps.map(({ name }) => name), "retire" as const].filter((name) => !begun.includes(name));
  for (const name of notBegun) await saveStep(run, name, { status: "skipped" });
}

async function undo(run: DeploymentRun, step: DeployStep): Promise<void> {
  if (step.undo === undefined) return;
  for (let attempt = 1; ; attempt++) {
    try {
      if ((await within(run.settings.undoSecondsMax, step.undo(stepContext(run, step.name), run.state))) !== undefined)
        return;
      // Not repeated: an undo that hung would hang again.
      return follows(run, step);
    } catch (error) {
      if (run.ctx.leaseKeeper.isLost || isDatabaseUnavailable(error)) throw error;
      run.logger.warn("A step of a deployment could not be undone.", {
        deployment: run.ctx.deployment.uuid,
        step: step.name,
        attempt,
        error,
      });
      if (attempt >= run.settings.undoAttemptsMax) return follows(run, step);
      await pause(0.5 * attempt);
    }
  }
}

/** The candidate's record stays, so the reconciler removes the release once the engine answers. */
const follows = ({ log }: DeploymentRun, { name }: DeployStep): void =>
  log.say(name, `Cleanup of the step ${name} is pending; Berth will retry.`, "stderr");

/** Saves the end of the last step, the waiting lines of the log and the end of the deployment in one transaction. */
async function end(run: DeploymentRun, outcome: DeploymentEnd, error: string | null): Promise<DeploymentEnd> {
  const { ctx, log, last } = run;
  const { lease, leaseKeeper, stores } = ctx;
  log.say(null, await farewell(run, outcome), outcome === "finished" ? "stdout" : "stderr");
  const isRetireSkipped = outcome === "finished" && !(await hasPrevious(run));
  const save = (lines: LogLines) =>
    stores.transaction(async (tx) => {
      const { deployments } = tx;
      if (last !== undefined && !(await deployments.saveStep(lease, last.name, last.change))) return false;
      for (const write of last?.writes ?? []) await write(tx);
      if (isRetireSkipped) await deployments.saveStep(lease, "retire", { status: "skipped" });
      if (!(await deployments.finish(lease, outcome, error && log.redact(error)))) return false;
      await deployments.appendLog(lease.deployment_id, lines);
      return true;
    });
  if (await log.storedWith(save)) return outcome;
  leaseKeeper.lose();
  throw handOver();
}

/** Whether it replaced a release, which the worker with the server's lease removes. */
async function hasPrevious({ ctx, state }: DeploymentRun): Promise<boolean> {
  // A switch that was interrupted has not returned it.
  const previous = "previous" in state ? state.previous : (await ctx.stores.releases.promote(ctx.lease))?.previous;
  return Boolean(previous);
}

const INSPECT_SECONDS = 5;
/** States in which a release answers nobody. A container that was never placed is only created. */
const DOWN: ReadonlySet<string> = new Set(["created", "exited", "dead", "restarting"]);

async function farewell({ ctx }: DeploymentRun, outcome: DeploymentEnd): Promise<string> {
  const { adapters, domains, stores, deployment } = ctx;
  if (outcome !== "finished") {
    const live = await stores.releases.live(deployment);
    const sentence = outcome === "failed" ? "Deployment failed." : "Deployment cancelled.";
    if (live === undefined) return sentence;
    const ref = { resourceUuid: live.resource_uuid, deploymentUuid: live.deployment_uuid };
    // Its engine may have failed the deployment; unless it says otherwise, the release runs.
    const seen = await within(INSPECT_SECONDS, adapters.engine.inspect(ref)).catch(() => undefined);
    const isDown = seen?.value !== undefined && DOWN.has(seen.value.state);
    return `${sentence} ${isDown ? "The previous release is kept, but does not run now." : "The previous release keeps running."}`;
  }
  const urls = domains.map(({ url }) => adapters.proxy.publicUrl(url));
  return urls.length === 0 ? "Deployment finished." : `Deployment finished: ${urls.join(", ")}`;
}
