import type { Operation } from "@berth/core/deploy";
import { drainRelease } from "./drain.ts";
import { keepBuild } from "./kept-build.ts";
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
  // Repeated here, so that the proxy certainly sends it no new requests.
  const subject = await router.route(operation);
  const record = await stores.releases.find(deploymentId);
  if (record === undefined || record.role !== "retiring") return;
  const successorId = record.replaced_by_deployment_id;
  const journal = successorId === null ? undefined : await openJournal(deps, successorId);

  const startedMs = performance.now();
  const state = await engine.inspect(release);
  const draining = { release, pullRequestId, upstream: record.upstream, state };
  const inFlight = await drainRelease({ proxy, router }, draining, settings.drainSecondsMax, signal);
  if (signal.aborted) return;
  if (inFlight > 0)
    await journal?.say(`Ends ${inFlight} requests that lasted longer than ${settings.drainSecondsMax} s`);

  const keeping = await keepBuild(stores, engine, { record, subject, isInUse: keepsArtifact });
  const graceSeconds = graceSecondsOf(subject);
  if (keeping.staysBuilt) await engine.stop(release, { graceSeconds });
  else await engine.remove(release, { graceSeconds });
  await journal?.done((performance.now() - startedMs) / 1000);
  await keeping.finish();
}

/** The step `retire` of the deployment that replaced the release. */
async function openJournal({ stores, clock }: WorkerDeps, deploymentId: number) {
  const { deployments } = stores;
  const line = (output: string) =>
    ({ step: "retire", type: "stdout", output, hidden: false, timestamp: clock.now() }) as const;
  await deployments.saveRetirement(deploymentId, { status: "running" }, [line("> retire")]);
  return {
    say: (output: string) => deployments.appendLog(deploymentId, [line(output)]),
    done: (seconds: number) =>
      deployments.saveRetirement(deploymentId, { status: "done" }, [line(`retire done in ${seconds.toFixed(1)} s`)]),
  };
}
