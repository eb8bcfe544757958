import type { Operation } from "@berth/core/deploy";
import type { ReleaseRecord, StepChange, SystemStores } from "@berth/core/ports";
import { drainRelease } from "./drain.ts";
import { dropSurplus, keepBuild } from "./kept-build.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";
import { graceSecondsOf } from "./stop-grace.ts";

export type Retirement = Extract<Operation, { type: "retire" }>;

/**
 * Removes a replaced release once it has no requests in flight. Its row with the role `retiring` is deleted last, so
 * if this worker stops, another one repeats the work.
 */
export async function retire(
  deps: WorkerDeps & { readonly settings: WorkerSettings },
  { engine, proxy, router }: ServerAdapters,
  operation: Retirement,
  signal: AbortSignal,
): Promise<void> {
  const { stores, settings } = deps;
  const { release, deploymentId, pullRequestId, keepsArtifact } = operation;
  const line = (output: string): RetireLine => ({
    step: "retire",
    type: "stdout",
    output,
    hidden: false,
    timestamp: deps.clock.now(),
  });
  // Repeated here, so that the proxy certainly sends it no new requests.
  const subject = await router.route(operation);
  const record = await stores.transaction((tx) => begin(tx, deploymentId, line("> retire")));
  if (record === undefined) return;

  const startedMs = performance.now();
  const state = await engine.inspect(release);
  const draining = { release, pullRequestId, upstream: record.upstream, state };
  const inFlight = await drainRelease({ proxy, router }, draining, settings.drainSecondsMax, signal);
  if (signal.aborted) return;
  const { replaced_by_deployment_id: successorId } = record;
  if (inFlight > 0 && successorId !== null) {
    const sentence = `Ends ${inFlight} requests that lasted longer than ${settings.drainSecondsMax} s`;
    await stores.deployments.appendLog(successorId, [line(sentence)]);
  }

  const keeping = await keepBuild(stores, engine, { record, subject, isInUse: keepsArtifact });
  const graceSeconds = graceSecondsOf(subject);
  if (keeping.staysBuilt) await engine.stop(release, { graceSeconds });
  else await engine.remove(release, { graceSeconds });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  const surplus = await stores.transaction(async (tx) => {
    await saveStep(tx, record, { status: "done" }, line(`retire done in ${seconds} s`));
    return await keeping.record(tx);
  });
  await dropSurplus(stores, engine, surplus);
}

/** @returns The release, unless it was retired since the plan was made. */
async function begin(stores: SystemStores, deploymentId: number, line: RetireLine): Promise<ReleaseRecord | undefined> {
  const record = await stores.releases.find(deploymentId);
  if (record?.role !== "retiring") return undefined;
  await saveStep(stores, record, { status: "running" }, line);
  return record;
}

/** The step `retire` of the deployment that replaced the release. */
async function saveStep(
  { deployments }: SystemStores,
  { replaced_by_deployment_id: successorId }: ReleaseRecord,
  change: StepChange,
  line: RetireLine,
): Promise<void> {
  if (successorId !== null) await deployments.saveRetirement(successorId, change, [line]);
}

type RetireLine = NonNullable<Parameters<SystemStores["deployments"]["saveRetirement"]>[2]>[number];
